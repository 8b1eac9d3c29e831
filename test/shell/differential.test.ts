import { differential } from './differential';
import { whyNoTrace } from './trace';

const why = whyNoTrace();
const testWithTrace = why === undefined ? test : test.skip;

// `npm run test:shell` runs many more.
testWithTrace(
  `commands that are free run nothing else, write nothing and read nothing outside${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const { ran, violations } = differential({ seed: 7, count: 250 });
    expect(violations).toEqual([]);
    expect(ran).toBe(250);
  },
  300_000,
);
