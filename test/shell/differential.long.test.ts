import { differential } from './differential';
import { runTraced, whyNoTrace } from './trace';
import { setTraps } from './traps';

const why = whyNoTrace();
const testWithTrace = why === undefined ? test : test.skip;
if (why !== undefined) console.warn(`Commands that are free were not traced: ${why}.`);

// `npm run test:shell` runs many more.
testWithTrace(
  'commands that are free run nothing else, write nothing and read nothing outside',
  () => {
    const { ran, violations } = differential({ seed: 7, count: 250 });
    expect(violations).toEqual([]);
    expect(ran).toBe(250);
  },
  300_000,
);

testWithTrace('what a command does that it may not do is seen, and told of that command', () => {
  const traps = setTraps();
  try {
    traps.makeHostile();
    const bad: [string, RegExp][] = [
      ['cat ../outside/secret.txt', /^reads outside/],
      ['cat out.txt', /^reads outside/],
      ['grep -R secret src', /^reads outside/],
      ['head -c 9 zero', /^reads outside/],
      ['stat /etc/shadow', /^reads outside/],
      ['sort -o written a.txt', /^writes/],
      ['sed -i s/o/x/ src/b.ts', /^writes/],
      ['touch written', /^(writes|runs another)/],
      ['find . -name b.txt -delete', /^writes/],
      ['find . -name a.txt -exec cat {} +', /^runs another program/],
      ['env ls', /^runs another program/],
      ['./evil.sh', /^runs another program/],
      ['git -c core.fsmonitor=./evil.sh status', /^runs another program/],
      ['env -u GIT_CONFIG_COUNT git log', /^runs another program/],
      ['cat < /dev/tcp/127.0.0.1/9', /^uses the network/],
    ];
    const good = ['ls -la', 'cat a.txt | sort', 'git status', 'grep -rn one src', 'none', 'git log -3'];
    const commands = [...good, ...bad.map(([command]) => command), ...good].map((command) => ({ command, writes: false }));
    const found = runTraced(traps, commands, 60_000);
    for (const [command, what] of bad) expect(found).toContainEqual({ command, what: expect.stringMatching(what) });
    expect(found.filter(({ command }) => good.includes(command))).toEqual([]);
    const edit = [{ command: 'sed -i s/o/x/ src/b.ts', writes: true }];
    expect(runTraced(traps, edit, 60_000)).toEqual([]);
    expect(runTraced(traps, [{ command: 'tail -f a.txt', writes: false }], 2_000)).toContainEqual({
      command: 'tail -f a.txt',
      what: 'does not end',
    });
  } finally {
    traps.remove();
  }
});
