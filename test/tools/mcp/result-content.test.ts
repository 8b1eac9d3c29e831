import { resultContent } from '../../../src/tools/mcp/result-content';
import { SecretMask } from '../../../src/tools/running/secret-mask';

const none = new SecretMask([]);
const texts = (count: number, last: string) => [...Array(count - 1).fill('other'), last].map((text) => ({ type: 'text' as const, text }));

test.each([
  ['as JSON', '{"sum":3}', { sum: 3 }],
  ['as its only value', 'three', { sum: 'three' }],
])('structured content that a text repeats %s is not added, and is compared with ten texts only', (_, last, structuredContent) => {
  expect(resultContent({ content: texts(10, last), structuredContent }, none)).toHaveLength(10);
  expect(resultContent({ content: texts(11, last), structuredContent }, none)).toHaveLength(12);
});
