import { callTools, type Reply, type ScriptRequest, say } from '../../src/testing/model-server';

/** A small repair: the files before and after, and what a model does for it, answer by answer. Paths are relative to the task's folder. */
export interface RepairTask {
  name: string;
  before: Record<string, string>;
  after: Record<string, string>;
  turns: Turn[];
  /** What fails in it, as `<tool> <status>`. */
  fails?: string[];
}

/** An answer; one that depends on the request is a function. */
export type Turn = Reply | ((request: ScriptRequest) => Reply);

type Calls = [name: string, args: object | ((request: ScriptRequest) => object)][];

function turnOf(calls: Calls): Turn {
  return (request) => callTools(calls.map(([name, args]) => ({ name, args: typeof args === 'function' ? args(request) : args })));
}

type Kind = (name: string, at: number) => Omit<RepairTask, 'name' | 'turns'> & { calls: Calls[] };

/** A GIF of one pixel, as base64. */
export const dot = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

const buggy = 'export function total(items) {\n  let sum = 1;\n  for (const item of items) sum += item;\n  return sum;\n}\n';
const repaired = buggy.replace('sum = 1', 'sum = 0');
const check = (expression: string) => `node --input-type=module -e "${expression}"`;

/** Twenty tasks of six kinds. Together they use every tool of the coder. */
export const repairTasks: RepairTask[] = Array.from({ length: 20 }, (_, at) => {
  const name = `t${at}`;
  const kinds = [byEdit, byPatch, byWriting, byRenaming, bySkill, inBackground];
  const { calls, ...task } = (kinds[at % kinds.length] as Kind)(name, at);
  return { name, ...task, turns: [...calls.map(turnOf), say('done')] };
});

function byEdit(name: string) {
  return {
    before: { 'total.mjs': buggy },
    after: { 'total.mjs': repaired },
    calls: [
      [
        ['grep', { pattern: 'let sum', path: name }],
        ['list_dir', { path: name }],
      ],
      [['read_file', { path: `${name}/total.mjs` }]],
      [['edit', { path: `${name}/total.mjs`, old_string: 'let sum = 1;', new_string: 'let sum = 0;' }]],
      [['shell', { workdir: name, command: check("import { total } from './total.mjs'; process.exit(total([1, 2]) - 3)") }]],
    ] satisfies Calls[],
  };
}

function byPatch(name: string, at: number) {
  const patch = [
    '*** Begin Patch',
    `*** Update File: ${name}/a.txt`,
    ' one',
    '-two',
    `+two ${at}`,
    `*** Update File: ${name}/b.txt`,
    `*** Move to: ${name}/moved/b.txt`,
    '-b',
    '+B',
    '+b',
    `*** Delete File: ${name}/c.txt`,
    `*** Add File: ${name}/d.txt`,
    '+d',
    '*** End Patch',
  ].join('\n');
  return {
    before: { 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n', 'c.txt': 'c\n' },
    after: { 'a.txt': `one\ntwo ${at}\n`, 'moved/b.txt': 'B\nb\n', 'd.txt': 'd\n' },
    calls: [
      [['glob', { pattern: '*.txt', path: name }]],
      [['apply_patch', { patch, dry_run: true }]],
      [['apply_patch', { patch }]],
      [['shell', { command: `cat ${name}/moved/b.txt` }]],
    ] satisfies Calls[],
  };
}

function byWriting(name: string, at: number) {
  return {
    before: { 'README.md': '# Before\n' },
    after: { 'README.md': `# After ${at}\n`, 'src/new.mjs': `export const n = ${at};\n` },
    calls: [
      [
        [
          'update_plan',
          {
            steps: [
              { description: 'write', status: 'in_progress' },
              { description: 'check', status: 'pending' },
            ],
          },
        ],
        ['read_file', { path: `${name}/README.md` }],
      ],
      [
        ['write_file', { path: `${name}/src/new.mjs`, content: `export const n = ${at};\n` }],
        ['write_file', { path: `${name}/README.md`, content: `# After ${at}\n` }],
      ],
      [['shell', { workdir: name, command: check(`import { n } from './src/new.mjs'; process.exit(n - ${at})`) }]],
      [['update_plan', { steps: [{ description: 'write', status: 'completed' }] }]],
    ] satisfies Calls[],
  };
}

function byRenaming(name: string) {
  const text = 'old old\r\nnot Old\r\n';
  return {
    before: { 'names.txt': text },
    after: { 'names.txt': 'old_old old_old\r\nnot Old\r\n' },
    calls: [
      [['view_image', { path: 'dot.gif' }]],
      // A second attempt at this edit would find its own result.
      [['edit', { path: `${name}/names.txt`, old_string: 'old', new_string: 'old_old', replace_all: true }]],
      [['grep', { pattern: 'old_old', path: `${name}/names.txt` }]],
      [['read_file', { path: `${name}/names.txt` }]],
    ] satisfies Calls[],
  };
}

function bySkill(name: string) {
  const patch = [
    `--- a/${name}/total.mjs`,
    `+++ b/${name}/total.mjs`,
    '@@ -2 +2,2 @@',
    '-  let sum = 1;',
    '+  // Nothing yet.',
    '+  let sum = 0;',
    '',
  ].join('\n');
  return {
    before: { 'total.mjs': buggy },
    after: { 'total.mjs': repaired.replace('  let', '  // Nothing yet.\n  let') },
    calls: [
      [['search_skills', { query: 'sums' }]],
      [['load_skill', { name: 'sums' }]],
      [['apply_patch', { patch }]],
      [['shell', { workdir: name, command: check("import { total } from './total.mjs'; process.exit(total([]))") }]],
    ] satisfies Calls[],
  };
}

/** A command in the background waits for input, does its work, and is then ended. */
function inBackground(name: string) {
  const id = ({ body }: ScriptRequest) => ({ id: /\\"id\\":\\"([^\\"]+)/.exec(JSON.stringify(body.messages))?.[1] });
  return {
    before: { 'n.txt': 'before\n' },
    after: { 'n.txt': 'after\n' },
    fails: ['web_fetch failed'],
    calls: [
      // Only public addresses are fetched.
      [['web_fetch', { url: 'http://127.0.0.1/' }]],
      [['shell', { workdir: name, background: true, command: 'read -r text; echo "$text" > n.txt; echo written; sleep 600' }]],
      [['shell_input', (request) => ({ ...id(request), text: 'after\n' })]],
      [['shell', { workdir: name, command: 'until grep -q after n.txt; do sleep 0.1; done' }]],
      [['shell_task', id]],
      [['shell_cancel', id]],
    ] satisfies Calls[],
  };
}
