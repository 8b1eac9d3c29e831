import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createPermissions, type PermissionMode } from '../../src/tools/permissions/permissions';
import { readShellCommand } from '../../src/tools/permissions/shell-command';
import { newFolder, removeFolders } from './tool-host';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'longhaul-work-')));
execFileSync('git', ['init', '-q', root]);
afterAll(() => rmSync(root, { recursive: true }));
afterAll(removeFolders);

const wordsIn = (command: string) => {
  const read = readShellCommand(command);
  return read.understood ? read.commands.map(({ words }) => words.map(({ text }) => text)) : [];
};
const decisionOn = (command: string, mode: PermissionMode = 'minimal', more: object = {}) =>
  createPermissions({ mode, root }).decide({ tool: 'shell', args: { command, ...more } });

describe('a shell command', () => {
  test.each([
    'pwd',
    'ls -la src/*.ts',
    'cat a.txt | grep -n "x y" | head -20',
    "rg 'foo$|bar|`baz`' && git status; git diff HEAD~1",
    'git log --oneline -5 || git show HEAD:a.ts |& tail -3;',
    'grep "a\\"b|c;d$" x 2>&1',
    'wc -l < a.txt',
    "find . -name '*.ts' -not -path './node_modules/*'",
    'date +%s',
    'head -n 5&&tail -n 2 <a.txt',
    '/bin/ls',
    '/usr/bin/git --no-pager log',
    '\tls   -l\t',
  ])('[B177] is allowed when each of its segments is: %j', (command) => {
    expect([command, decisionOn(command)]).toEqual([command, 'allow']);
  });

  test.each([
    'npm test',
    'ls; npm test',
    'npm test | cat',
    'ls && npm test',
    'ls || npm test',
    'ls |& npm test',
    'lsof',
    'LS',
    '/opt/ls',
    './ls',
    'git push',
    'git -c core.pager=x log',
    'A=1 ls',
    'PAGER=x',
    'sudo ls',
    'ls | xargs cat',
    'time ls',
  ])('[B177] needs approval when one of its segments does: %j', (command) => {
    expect([command, decisionOn(command)]).toEqual([command, 'ask']);
  });

  test('[B177] is not split inside quotes', () => {
    expect(wordsIn(`a 'b; c' "d | e" f\\;g "h && \\"i\\"" ''`)).toEqual([['a', 'b; c', 'd | e', 'f;g', 'h && "i"', '']]);
    expect(wordsIn('a 1 2>&1 <x b|c;d||e&&f|&g<y')).toEqual([['a', '1', 'b'], ['c'], ['d'], ['e'], ['f'], ['g']]);
    expect(readShellCommand('a <x | b c* 2>&1')).toEqual({
      understood: true,
      conditional: false,
      commands: [
        { words: [{ text: 'a', glob: false }], inputs: ['x'], piped: false, at: 0 },
        {
          words: [
            { text: 'b', glob: false },
            { text: 'c*', glob: true },
          ],
          inputs: [],
          piped: true,
          at: 7,
        },
      ],
    });
  });

  test.each(['cd src', 'cd ./a/b && ls', 'cd .', "cd 'a b'; cd c; ls", `cd ${root}/src && ls`, `cd ${root}`])(
    '[B177] may cd inside the root: %j',
    (command) => {
      expect([command, decisionOn(command)]).toEqual([command, 'allow']);
    },
  );

  test.each([
    'cd ..',
    'cd src/../.. && ls',
    'cd a/../b',
    'cd a; cd ..',
    'cd /',
    'cd /etc',
    `cd ${root}-too`,
    `cd ${root}/..`,
    'cd',
    'cd -',
    'cd ~',
    'cd ~dana',
    "cd ''",
    'cd a b',
    'cd -P a',
    'cd a*',
    'cd a/.?',
    'pushd src',
    'cd src; npm test',
  ])('[B177] may not cd elsewhere: %j', (command) => {
    expect([command, decisionOn(command)]).toEqual([command, 'ask']);
  });

  test('[B177] may only begin in a folder inside the root', () => {
    expect(decisionOn('ls', 'minimal', { workdir: 'src' })).toBe('allow');
    expect(decisionOn('ls', 'minimal', { workdir: '../x' })).toBe('ask');
    expect(decisionOn('ls', 'minimal', { workdir: '/etc' })).toBe('ask');
    expect(decisionOn('ls', 'minimal', { workdir: 7 })).toBe('ask');
    const rootless = createPermissions({ mode: 'minimal' });
    expect(rootless.decide({ tool: 'shell', args: { command: 'cd src && ls' } })).toBe('allow');
    expect(rootless.decide({ tool: 'shell', args: { command: `cd ${root}` } })).toBe('ask');
  });

  test.each([
    ['command substitution', 'cat $(ls)'],
    ['command substitution in quotes', 'cat "$(ls)"'],
    ['backticks', 'cat `ls`'],
    ['backticks in quotes', 'cat "`ls`"'],
    ['a new line', 'ls\ncat x'],
    ['a carriage return', 'ls\rcat x'],
    ['a new line in quotes', "ls 'a\nb'"],
    ['a continued line', 'ls \\\ncat'],
    ['the background', 'ls & cat x'],
    ['the background, at the end', 'ls &'],
    ['a write', 'cat a > b'],
    ['a write without blanks', 'cat a>b'],
    ['an appending write', 'cat a >> b'],
    ['a write of errors', 'ls 2> b'],
    ['an appending write of errors', 'ls 2>>b'],
    ['a write of both', 'ls &> b'],
    ['a write of both, the other way', 'ls >& b'],
    ['a forced write', 'ls >| b'],
    ['a write to nowhere', 'ls > /dev/null'],
    ['opening for both', 'cat <> b'],
    ['what looks like a copied descriptor', 'ls >&1b'],
    ['a descriptor that nobody opened', 'ls 2>&7'],
    ['another descriptor', 'ls 255>&1'],
    ['a moved descriptor', 'ls 2>&1-'],
    ['process substitution', 'cat <(ls)'],
    ['process substitution for output', 'ls | cat >(cat)'],
    ['a here-document', 'cat << x'],
    ['a here-string', 'cat <<< x'],
    ['a connection', 'cat < /dev/tcp/127.0.0.1/80'],
    ['a variable', 'cat $HOME'],
    ['a variable in quotes', 'cat "$HOME"'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's.
    ['an expansion', 'cat ${x:=y}'],
    ['arithmetic', 'ls $((a[0]))'],
    ['quotes with escapes', "ls $'\\x41'"],
    ['translated quotes', 'ls $"a"'],
    ['braces', 'ls {a,b}'],
    ['a group', '{ ls; }'],
    ['a subshell', '(ls)'],
    ['a function', 'ls() { cat x; }'],
    ['a condition', 'if ls; then cat x; fi'],
    ['a loop', 'while ls; do cat x; done'],
    ['a negation', '! ls'],
    ['a test', '[ -f x ]'],
    ['a comment', 'ls # x'],
    ['a pattern that could become an option', 'rg x *'],
    ['a pattern that could complete an option', 'rg x --pr*'],
    ['a pattern behind empty quotes', "rg x ''*"],
    ['an open quote', "ls 'a"],
    ['an open double quote', 'ls "a'],
    ['a backslash at the end', 'ls \\'],
    ['an empty segment', 'ls ; ; ls'],
    ['a case separator', 'ls ;; ls'],
    ['nothing before a pipe', '| ls'],
    ['nothing behind a pipe', 'ls |'],
    ['nothing at all', ' '],
    ['a NUL byte', 'ls \0 x'],
    ['a blank that is none', 'ls\u00a0-la'],
    ['text that turns around', 'ls \u202e x'],
  ])('[B178] with %s is never allowed automatically: %j', (_, command) => {
    const rules = ['ls', 'cat', 'rg', 'if', 'while', '!', '['].map((word) => ({ tool: 'shell', prefix: [word] }));
    for (const mode of ['minimal', 'trusted'] as const) {
      expect(createPermissions({ mode, root, allow: rules }).decide({ tool: 'shell', args: { command }, rules })).toBe('ask');
    }
    expect(readShellCommand(command)).toEqual({ understood: false, why: expect.stringMatching(/^(it|a) .{6,}/) });
  });

  test('that can not be parsed has a reason', () => {
    const why = (command: string) => readShellCommand(command);
    expect(why('ls\ncat')).toEqual({ understood: false, why: 'it has several lines' });
    expect(why('ls &')).toEqual({ understood: false, why: 'it runs something in the background' });
    expect(why('ls 2>> x')).toEqual({ understood: false, why: 'it writes to a file' });
    expect(why('ls $x')).toEqual({ understood: false, why: 'it has a $ that the check does not cover' });
  });

  test.each([
    'find . -delete',
    'find . -exec cat x \\;',
    'find . -execdir cat x +',
    'find . -fprintf x y',
    'rg --pre cat x',
    'rg --pre=cat x',
    'date -s 1',
    'date --set=1',
    'date 010112002026',
    'file -C',
    'git diff --output=x',
    'git log --outp x',
    'git diff --ext-diff',
    'git grep -Ocat x',
    'git grep --open-files=cat x',
  ])('that reaches further than its name suggests needs approval: %j', (command) => {
    expect([command, decisionOn(command)]).toEqual([command, 'ask']);
    expect(decisionOn(command.split(' ')[0] === 'git' ? 'git log' : command.replace(/ .*/, ''))).toBe('allow');
  });

  test.each<[string, 'allow' | 'ask']>([
    ["sed -n '1,20p' a.txt", 'allow'],
    ["sed -i.bak -e 's/a/b/g' src/a.ts", 'allow'],
    ["sed -En 's|(a)+|\\1|p; /x/d' a.txt", 'allow'],
    [`sed -i -e 's/a/b/' ${root}/a.txt`, 'allow'],
    [`sed -i 's/a/b/' ${root}/a.txt`, 'ask'],
    ["sed -i -e 's/a/b/' ../a.txt", 'ask'],
    ["sed -i -e 's/a/b/' /etc/hosts", 'ask'],
    ["sed -n '1e cat x' a.txt", 'ask'],
    ["sed 's/a/b/e' a.txt", 'ask'],
    ["sed 's/a/b/w x' a.txt", 'ask'],
    ["sed 'w x' a.txt", 'ask'],
    ['sed -f x a.txt', 'ask'],
    ['sed -nf x a.txt', 'ask'],
    ["sed -n -e p -e 'e cat' a.txt", 'ask'],
    ["sed --expression='e cat' a.txt", 'ask'],
    ["sed -e'e cat' a.txt", 'ask'],
    ["awk '{ print $1 }' a.txt", 'allow'],
    ["awk -F, -v n=2 'NR == n { s += $2 } END { print s }' a.txt", 'allow'],
    ['awk \'BEGIN { system("cat x") }\'', 'ask'],
    ['awk \'{ print | "cat" }\' a.txt', 'ask'],
    ['awk \'{ print > "x" }\' a.txt', 'ask'],
    ['awk \'{ f = "x"; @f() }\' a.txt', 'ask'],
    ['awk -f x a.txt', 'ask'],
    ["awk --exec x '{ print }'", 'ask'],
  ])('of the editing commands of mode trusted is allowed as far as it only edits in the root: %s: %s', (command, decision) => {
    expect([command, decisionOn(command, 'trusted')]).toEqual([command, decision]);
    expect(decisionOn(command, 'minimal')).toBe('ask');
  });

  test('a rule that names the option with the wider effect includes it', () => {
    const find = (prefix: string[], command: string) =>
      createPermissions({ allow: [{ tool: 'shell', prefix }] }).decide({ tool: 'shell', args: { command } });
    expect(find(['find'], 'find . -exec grep x a +')).toBeUndefined();
    expect(find(['find', '.', '-exec', 'grep'], 'find . -exec grep x a +')).toBe('allow');
    expect(find(['find', '.', '-exec', 'grep'], 'find . -exec cat x a +')).toBeUndefined();
    expect(find(['find', '.', '-exec', 'grep'], 'find . -exec grep x a + -delete')).toBeUndefined();
    expect(find(['find', '.', '-exec', 'grep'], 'find . -exec grep x a \\; -exec rm a \\;')).toBeUndefined();
    expect(find(['sort'], 'sort -n a')).toBe('allow');
    for (const command of ['sort -o x y', 'sort -ro x y', 'sort --outp=x y', 'sort --compress-program=cat x']) {
      expect(find(['sort'], command)).toBeUndefined();
    }
    expect(find(['sed', '-n'], 'sed -n p a')).toBe('allow');
    expect(find(['sed', '-n'], "sed -n '1e rm a' a")).toBeUndefined();
    expect(find(['awk', '-f'], 'awk -f a.awk b')).toBe('allow');
    expect(find(['awk'], 'awk -f a.awk b')).toBeUndefined();
  });

  test.each([
    "git log --format='%+G?'",
    "git branch --format='%(signature)'",
    "git tag --format '%(*signature:key)'",
    "git branch --format='%(describe)'",
    "git stash list --pretty='% GK'",
  ])('a prefix rule lets no format run a program that checks signatures: %s', (command) => {
    const prefix = command.split(' ').slice(0, 2);
    const decide = (text: string) =>
      createPermissions({ allow: [{ tool: 'shell', prefix }] }).decide({ tool: 'shell', args: { command: text } });
    expect(decide(prefix.join(' '))).toBe('allow');
    expect(decide(command)).toBeUndefined();
  });
});

/** Ways to have `evil` run, each around a command that may itself be one of them. */
const embedded = fc.letrec<{ command: string }>((tie) => ({
  command: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('evil', "'evil'", '"evil"', 'ev\\il', "ev''il x", './evil', 'A=1 evil', 'evil < a', 'sudo evil', '! evil'),
    fc
      .tuple(
        fc.constantFrom<[string, string]>(
          ...([
            ...['; ', ' | ', ' || ', ' && ', ' |& ', ' & ', '\n', ';', '|', '&'].map((between) => [`ls${between}`, '']),
            ...['; ls', ' | cat', ' || cat x', ' && ls', ' &', '\nls', '&ls'].map((after) => ['', after]),
            ...[
              ['ls $(', ')'],
              ['ls "$(', ')"'],
              ['ls "a`', '`"'],
              ['ls `', '`'],
              ['cat <(', ')'],
              ['ls | cat >(', ')'],
              ['ls ${x:-$(', ')}'],
              ['ls "${x:=`', '`}"'],
              ['(', ')'],
              ['{ ', '; }'],
              ['if ls; then ', '; fi'],
              ['cat x; for a in b; do ', '; done'],
              ['f() { ', '; }; f'],
              ['find . -exec ', ' \\;'],
              ['ls | xargs ', ''],
              ['cat <<x\n$(', ')\nx'],
              ['cat <<< "$(', ')"'],
              ["bash -c '", "'"],
              ['eval "', '"'],
              ['time ', ''],
              ['ls; A=1 ', ''],
              ['cat x > y; ', ''],
              ['coproc ', ''],
              ['ls $((a[$(', ')]))'],
            ],
          ] as [string, string][]),
        ),
        tie('command'),
      )
      .map(([[before, after], inner]) => before + inner + after),
  ),
}));

test('[B177][B178] a command that contains another one is never allowed automatically', () => {
  const rules = ['ls', 'cat', 'find', 'f'].map((word) => ({ tool: 'shell', prefix: [word] }));
  const permissions = createPermissions({ mode: 'trusted', root, allow: rules });
  fc.assert(
    fc.property(embedded.command, (command) => {
      expect(permissions.decide({ tool: 'shell', args: { command }, rules })).toBe('ask');
    }),
    { numRuns: 2_000 },
  );
});

/** Folder with the programs ls, cat and evil, which only note what they were given; and an empty place to run in. */
async function stage() {
  const base = await newFolder();
  const [bin, place, log] = [join(base, 'bin'), join(base, 'place'), join(base, 'log')];
  await mkdir(bin);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's.
  const stub = '#!/bin/sh\nline=$(printf \'%s\\037\' "${0##*/}" "$@")\nprintf \'%s\\036\' "$line" >> "$STAGE_LOG"\n';
  for (const name of ['ls', 'cat', 'evil', 'x', 'sub']) await writeFile(join(bin, name), stub, { mode: 0o755 });
  return {
    /** The word lists that bash ran the command as. */
    async run(command: string): Promise<string[][]> {
      await rm(place, { recursive: true, force: true });
      await mkdir(join(place, 'sub'), { recursive: true });
      await writeFile(log, '');
      try {
        const env = { PATH: bin, STAGE_LOG: log };
        execFileSync('/bin/bash', ['-c', command], { cwd: place, env, input: '', timeout: 5_000, stdio: ['pipe', 'ignore', 'ignore'] });
      } catch {
        // That it fails is fine; that it does something is not.
      }
      expect(await readdir(place)).toEqual(['sub']);
      const lines = (await readFile(log, 'utf8')).split('\x1e').slice(0, -1);
      return lines.map((line) => line.split('\x1f').slice(0, -1));
    },
  };
}

const tame = [
  'ls',
  'cat',
  'ls ',
  'cat ',
  ' ',
  ' | ',
  ' && ',
  ' || ',
  '; ',
  ' -a',
  ' x',
  ' evil',
  "'",
  '"',
  "' '",
  '" "',
  'sub',
  'cd sub',
  ' 2>&1',
];
// No `*`, which would match the folder there.
const wild = [
  '\\',
  '$',
  '$(',
  ')',
  '`',
  '${',
  '}',
  '{',
  '(',
  '&',
  '>',
  '<',
  '2',
  '1',
  '\n',
  '#',
  '!',
  '=',
  '[',
  ']',
  '-',
  ';',
  '|',
  ',',
  '\t',
  ':',
];

test('[B177][B178] of an allowed command, a real bash runs exactly the segments that were checked, and writes nothing', async () => {
  const bash = await stage();
  const permissions = createPermissions({ allow: ['ls', 'cat'].map((word) => ({ tool: 'shell', prefix: [word] })), root });
  const fragments = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...tame) },
      { weight: 1, arbitrary: fc.constantFrom(...wild) },
      { weight: 1, arbitrary: fc.constantFrom('evil', '; evil', ' | evil', ' $x', 'é') },
    ),
    { minLength: 1, maxLength: 14 },
  );
  let ran = 0;
  await fc.assert(
    fc.asyncProperty(
      fragments
        .map((parts) => parts.join(''))
        .filter((command) => permissions.decide({ tool: 'shell', args: { command } }) === 'allow' && !/^(ls|cat)?\W*$/.test(command)),
      async (command) => {
        const expected = wordsIn(command);
        const seen = await bash.run(command);
        ran += seen.length;
        for (const words of seen) expect(expected).toContainEqual(words);
        // The first is never skipped, but where a file it reads is not there.
        if (expected[0]?.[0] !== 'cd' && !command.includes('<')) expect(seen).toContainEqual(expected[0]);
      },
    ),
    { numRuns: 150 },
  );
  expect(ran).toBeGreaterThan(40);
});

describe('the rule that is suggested', () => {
  const prefixes = (command: string) => {
    const rules = createPermissions({ root }).suggest({ tool: 'shell', args: { command } });
    expect(rules.every(({ tool }) => tool === 'shell')).toBe(true);
    return rules.map(({ prefix, exact }) => prefix?.join(' ') + (exact ? ', exactly' : ''));
  };

  test.each<[string, string[]]>([
    ['ls -la', ['ls']],
    ['git add src', ['git add']],
    ["git commit -qm 'a b'", ['git commit']],
    ['npm run build --silent', ['npm run build']],
    ['npm test', ['npm test']],
    ['/usr/bin/grep -rn x src', ['grep']],
  ])('[B175] is narrow: %s: %j', (command, expected) => {
    expect(prefixes(command)).toEqual(expected);
  });

  test.each([
    'node scripts/a.js --x',
    'python3 -m pytest -q',
    "go test './...'",
    'npx jest a.test.ts',
    'npm run build -- --watch',
    'git push origin main',
    'docker compose up',
    'jest a',
    'sed -n 1p a',
    'make test',
    './build.sh',
    'docker run -it x',
    'cat ../a.txt',
    'cat /etc/hostname',
    'git',
  ])('[B175] is the whole command if the text after its first words may be anything: %s', (command) => {
    expect(prefixes(command)).toEqual([`${command.replaceAll("'", '')}, exactly`]);
  });

  test.each(['cd src && node a.js', 'cat x | node a.js', 'make < x', 'make t*'])(
    '[B175] is nothing if the whole command depends on more than its text: %s',
    (command) => {
      expect(prefixes(command)).toEqual([]);
    },
  );

  test('[B175] that is a whole command allows only that command, in the workspace itself', () => {
    const rules = createPermissions().suggest({ tool: 'shell', args: { command: "node a.js 'b c' ''" } });
    expect(rules).toEqual([{ tool: 'shell', prefix: ['node', 'a.js', 'b c', ''], exact: true }]);
    const decide = (command: string, more: object = {}) =>
      createPermissions({ mode: 'minimal', root }).decide({ tool: 'shell', args: { command, ...more }, rules });
    expect(decide('node a.js "b c" ""')).toBe('allow');
    expect(decide("ls && node a.js 'b c' ''", { workdir: '.' })).toBe('allow');
    for (const command of [
      "node a.js 'b c'",
      'node a.js b c ""',
      "node a.js 'b c' '' x",
      "node a.js 'b c' '' < x",
      "ls | node a.js 'b c' ''",
      "cd src && node a.js 'b c' ''",
      "./node a.js 'b c' ''",
    ]) {
      expect([command, decide(command)]).toEqual([command, 'ask']);
    }
    expect(decide("node a.js 'b c' ''", { workdir: 'src' })).toBe('ask');
  });

  test('[B175] is one for each segment, without duplicates', () => {
    expect(prefixes('npm test -s | grep y; npm test; git add .; cd src; ls')).toEqual(['npm test', 'grep', 'git add', 'ls']);
  });

  test.each([
    'A=1 npm test',
    'sudo npm test',
    'env npm test',
    'nohup npm test',
    'time npm test',
    'xargs rm',
    'cd src',
    'rm -rf x',
    'curl https://example.test',
    "bash -c 'ls'",
    'node -e 1',
    'node',
    'python -m',
    'git -C x push',
    'find . -exec rm x +',
    'find . -delete',
    "awk 'BEGIN { system(1) }'",
    '"a b" c',
    'npm test > x',
    'npm test $(x)',
    'npm test & y',
    'npm test\ny',
    '',
  ])('[B175] is nothing if a prefix would allow more than was reviewed, or nothing: %j', (command) => {
    expect(prefixes(command)).toEqual([]);
  });

  test('[B175] is the tool itself for tools that do not run commands', () => {
    expect(createPermissions().suggest({ tool: 'pay', args: { cents: 5 } })).toEqual([{ tool: 'pay' }]);
    expect(createPermissions().suggest({ tool: 'pay', args: undefined })).toEqual([{ tool: 'pay' }]);
  });

  test('[B175] allows the command for which it was suggested, if each segment has one', () => {
    const words = fc.constantFrom(
      'git',
      'npm',
      'run',
      'build',
      'ls',
      'node',
      'a.js',
      '-x',
      'rm',
      'sudo',
      'find',
      '-delete',
      '.',
      'x y',
      'A=1',
      'go',
    );
    const segment = fc.array(words, { minLength: 1, maxLength: 5 }).map((list) => list.map((word) => `'${word}'`).join(' '));
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 3 }), (segments) => {
        const permissions = createPermissions({ mode: 'minimal' });
        const each = segments.map((command) => permissions.suggest({ tool: 'shell', args: { command } }));
        const call = { tool: 'shell', args: { command: segments.join('; ') } };
        const rules = permissions.suggest(call);
        for (const { prefix } of rules) expect(prefix?.length).toBeGreaterThanOrEqual(1);
        for (const { prefix, exact } of rules) if (!exact) expect(prefix?.length).toBeLessThanOrEqual(3);
        if (each.every((list) => list.length === 1)) expect(permissions.decide({ ...call, rules })).toBe('allow');
        if (each.some((list) => list.length === 0)) expect(rules).toEqual([]);
      }),
    );
  });
});
