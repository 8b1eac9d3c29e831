import { isAbsolute, normalize, relative } from 'node:path';

/** Tools that read in the workspace, and those that only speak to a person or end the run. */
export const readingTools = ['read_file', 'list_dir', 'ask_human', 'done'];
export const editingTools = ['write_file', 'edit', 'apply_patch'];

/** Prefixes of commands that read. What options can make of them is in `reachesFurther`. */
export const readingCommands = [
  ...['pwd', 'ls', 'rg', 'grep', 'find', 'sort', 'cat', 'head', 'tail', 'wc', 'stat', 'file', 'uname', 'whoami', 'date'].map((name) => [
    name,
  ]),
  ...['status', 'diff', 'show', 'log', 'rev-parse', 'ls-files', 'grep'].map((name) => ['git', name]),
];
export const editingCommands = [['sed'], ['awk']];

/** By command: whether these arguments make it run other commands, or write where it only reads. */
const guards: Record<string, (args: string[], root: string | undefined) => boolean> = {
  find: (args) => args.some((arg) => /^-(exec|ok|delete|fprint|fls)/.test(arg)),
  rg: (args) => args.some((arg) => names(arg, 'pre', 'hostname-bin')),
  sort: (args) => args.some((arg) => names(arg, 'output', 'compress-program') || /^-[^-]*o/.test(arg)),
  date: (args) => args.some((arg) => names(arg, 'set') || /^-[^-I]*s/.test(arg) || /^\d{8}/.test(arg)),
  file: (args) => args.some((arg) => names(arg, 'compile') || /^-[^-]*C/.test(arg)),
  git: ([subcommand, ...args]) =>
    args.some(
      (arg) =>
        names(arg, 'output', 'ext-diff', 'open-files-in-pager', 'upload-pack', 'receive-pack', 'exec', 'config') ||
        (subcommand === 'grep' && /^-[^-]*O/.test(arg)) ||
        (subcommand === 'rebase' && /^-[^-]*x/.test(arg)) ||
        (subcommand === 'clone' && /^-[^-]*[cu]/.test(arg)),
    ),
  sed: (args, root) => !isPlainSed(args, root),
  awk: (args) => !isPlainAwk(args),
};

/**
 * Whether a command goes beyond what its name says: `find` that deletes, `sort` that writes, `awk` that runs a program. When in doubt, yes.
 * `root` is the folder that `sed -i` may change files in.
 */
export function reachesFurther(words: readonly string[], root?: string): boolean {
  const [name = '', ...args] = words;
  return Object.hasOwn(guards, name) && guards[name]?.(args, root) === true;
}

/** Whether a path leads into the folder in which a command begins, wherever in it the command is by then. Symbolic links are not followed. */
export function staysInside(path: string, root: string | undefined): boolean {
  if (path === '' || /^[-~]|[*?[]/.test(path)) return false;
  if (!isAbsolute(path)) return isBelow(normalize(path));
  return root !== undefined && isBelow(relative(root, path) || '.');
}

function isBelow(path: string): boolean {
  return path !== '..' && !path.startsWith('../') && !isAbsolute(path);
}

/** Whether an argument is one of these long options, or what GNU takes for an abbreviation of one. */
function names(arg: string, ...options: string[]): boolean {
  const name = /^--([^=]+)/.exec(arg)?.[1];
  return name !== undefined && options.some((option) => option.startsWith(name));
}

/** Print, delete, quit, line number and substitute; not the commands `e`, `w` and `r`, nor the flags that do the same. */
const sedCommand = (() => {
  const address = String.raw`(?:\d+|\$|/[^/\\]*/)`;
  const text = String.raw`(?:(?!\1)[^\\]|\\.)*`;
  return new RegExp(String.raw`^(?:${address}(?:,${address})?)?\s*(?:[pdq=]|s([/|#,])${text}\1${text}\1[gpiI\d]*)?$`);
})();

function isPlainSed(args: string[], root: string | undefined): boolean {
  const operands: string[] = [];
  const scripts: string[] = [];
  let inPlace = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (/^(-[nErsuz]*e|--expression)$/.test(arg)) scripts.push(args[(at += 1)] ?? '');
    else if (/^(-[nErsuz]*i(\.\w+)?|--in-place)$/.test(arg)) inPlace = true;
    else if (arg.startsWith('-') && !/^(-[nErsuz]+|--quiet|--silent|--regexp-extended)$/.test(arg)) return false;
    else if (!arg.startsWith('-')) operands.push(arg);
  }
  if (scripts.length === 0) scripts.push(operands.shift() ?? '');
  // Each script on its own: a `;` within an expression makes it one that is not understood, which is as well.
  const plain = scripts.every((script) => script.split(';').every((part) => sedCommand.test(part.trim())));
  return plain && (!inPlace || operands.every((path) => staysInside(path, root)));
}

function isPlainAwk(args: string[]): boolean {
  return args.every((arg) => (arg.startsWith('-') ? /^-(F.*|v.*)$/.test(arg) : true) && !/system|[|>@]/.test(arg));
}
