import { isAbsolute, join } from 'node:path';
import { findTool } from '../../core/loaded-tools';
import { isPlainAwkProgram } from './awk-program';
import { type Arguments, type KnownOptions, readArguments } from './command-options';
import { touchesKept } from './git-files';
import { hasPlainRepository } from './git-safety';
import { areModest, isModestRg } from './memory-bounds';
import { isInside, type Place } from './place';
import { isPlainSedScript } from './sed-script';
import type { ShellWord, SimpleCommand } from './shell-command';

/** Tools that read in the workspace. */
export const readingTools = ['read_file', 'list_dir', 'glob', 'grep', 'view_image', 'search_skills', 'load_skill'];
/** Tools that only ask a person, end the run, write down a plan, read outputs of the thread, find tools, or end a command that it started. */
export const speakingTools = [
  findTool,
  'ask_human',
  'done',
  'update_plan',
  'read_output',
  'read_output_line',
  'grep_output',
  'shell_task',
  'shell_cancel',
];
/** People remember the host of its call, never the whole tool. */
export const fetchTool = 'web_fetch';
export const editingTools = ['write_file', 'edit', 'apply_patch'];
/** The modes judge its commands one by one. */
export const shellTool = 'shell';
/** People can't remember its calls: the next text may be any command. */
export const inputTool = 'shell_input';
/** Every tool that permissions treat by its name. No tool of an OpenAPI document or of an MCP server may have one of these names. */
export const toolsJudgedByName: readonly string[] = [...readingTools, ...speakingTools, fetchTool, ...editingTools, shellTool, inputTool];

/** Whether a program with these arguments does only what it is known for. Without a place, paths are not checked. */
type Judge = (args: readonly ShellWord[], place?: Place) => boolean;

/** Accepts known options, and paths inside the workspace. */
function known(options: KnownOptions, more: (found: Arguments, place?: Place) => boolean = () => true): Judge {
  return (args, place) => {
    const found = readArguments(args, options);
    return found !== undefined && more(found, place) && allInside(found.paths, place);
  };
}

function allInside(paths: readonly ShellWord[], place: Place | undefined): boolean {
  return place === undefined || paths.every((path) => isInside(path, place));
}

const number = /^-\d+$/;

/** Without a number, `-cf` and `-nf` mean the historic `tail -f`, which reads without end. */
function countsOnly({ options }: Arguments): boolean {
  return options.every(([, value]) => value === undefined || /^[-+]?\d+(b|[kKMGTPEZYRQ](i?B)?|m)?$/.test(value));
}

/** Commands that read. Options that follow symbolic links, read without end, write or run something are not listed. */
const readers: Record<string, Judge> = {
  pwd: known({ flags: 'LP', operands: 'none' }),
  whoami: known({ operands: 'none' }),
  uname: known({ flags: 'asnrvmpio', long: 'all kernel-name kernel-release machine', operands: 'none' }),
  date: known(
    { flags: 'uR', values: 'd', other: /^-I(date|hours|minutes|seconds|ns)?$/, long: 'utc iso-8601', longValues: 'date' },
    // Digits would set the clock, and a time zone is a file.
    ({ options, paths }) =>
      paths.every(({ text, glob }) => text.startsWith('+') && !glob) &&
      options.every(([, value]) => value === undefined || /^[\w :.,+@-]*$/.test(value)),
  ),
  // Type indicators and colours would read the targets of links.
  ls: known({
    flags: 'laAhrtSR1disnogpmxCXUkqQBcuGNbv',
    values: 'Iw',
    other: /^--color=(never|auto)$/,
    long: 'all almost-all human-readable reverse recursive size directory inode group-directories-first full-time si sort time time-style format numeric-uid-gid no-group',
    longValues: 'ignore hide',
  }),
  cat: known({
    flags: 'AbeEnstTuv',
    long: 'show-all number number-nonblank squeeze-blank show-ends show-tabs show-nonprinting',
  }),
  head: known(
    {
      flags: 'qvz',
      values: 'cn',
      other: number,
      long: 'quiet silent verbose zero-terminated',
      longValues: 'lines bytes',
    },
    countsOnly,
  ),
  tail: known(
    {
      flags: 'qvz',
      values: 'cn',
      other: number,
      long: 'quiet silent verbose zero-terminated',
      longValues: 'lines bytes',
    },
    // `+1f` is not a file: it reads without end.
    (found) => countsOnly(found) && !found.paths.some(({ text }) => text.startsWith('+')),
  ),
  wc: known({ flags: 'cmlLw', long: 'bytes chars lines words max-line-length' }),
  stat: known({ flags: 'ft', values: 'c', long: 'terse file-system', longValues: 'format printf' }),
  file: known({ flags: 'bihkN', long: 'brief mime mime-type mime-encoding extension keep-going no-dereference no-pad' }),
  grep: known({
    flags: 'nilLcvwxohHrsqaIEFGPzZTb',
    values: 'ABCme',
    other: number,
    long: 'recursive line-number ignore-case no-ignore-case files-with-matches files-without-match count invert-match word-regexp line-regexp only-matching no-filename with-filename no-messages quiet silent text extended-regexp fixed-strings basic-regexp perl-regexp null null-data initial-tab byte-offset color colour line-buffered',
    longValues: 'regexp include exclude exclude-dir context after-context before-context max-count label binary-files',
    texts: 1,
    unless: 'e regexp',
  }),
  rg: known(
    {
      flags: 'nNilcwvsSFxoUHIPuqpa0',
      values: 'ABCmegtTdjMr',
      long: 'line-number no-line-number ignore-case files-with-matches files-without-match count count-matches word-regexp invert-match case-sensitive smart-case fixed-strings line-regexp only-matching multiline multiline-dotall with-filename no-filename pcre2 unrestricted quiet pretty text null hidden no-ignore no-ignore-vcs no-config heading no-heading column json stats trim vimgrep files type-list no-messages color glob-case-insensitive iglob',
      longValues:
        'regexp glob type type-not after-context before-context context max-count max-depth max-columns max-filesize threads replace sort sortr',
      texts: 1,
      unless: 'e regexp files type-list',
    },
    isModestRg,
  ),
  find: findsOnly,
  git: gitReads,
};

const sed = known(
  {
    flags: 'nErsuz',
    values: 'e',
    other: /^(-[nErsuz]*i(\.\w+)?|--in-place)$/,
    long: 'quiet silent regexp-extended',
    longValues: 'expression',
    texts: 1,
    unless: 'e expression',
  },
  sedsOnly,
);

/**
 * In BSD's sed, the next word is the suffix, so a file may be taken as the script or the other way round. If that word is `-e`, it makes no
 * difference.
 */
const needsSuffix = /^-[nErsuz]*i$/;

/** Commands that edit, for mode `trusted`. */
const editors: Record<string, Judge> = {
  sed: (args, place) => args.every((arg, at) => !needsSuffix.test(arg.text) || args[at + 1]?.text === '-e') && sed(args, place),
  awk: known({ values: 'Fv', texts: 1, ordered: true }, ({ texts: [program = ''] }) => isPlainAwkProgram(program)),
};

/** Commands with known options, for configured rules only. `sort` writes data that doesn't fit in memory to files in `TMPDIR`. */
const others: Record<string, Judge> = {
  sort: known({
    flags: 'bdfghiMnrVuszcCm',
    values: 'kt',
    long: 'ignore-leading-blanks dictionary-order ignore-case numeric-sort general-numeric-sort human-numeric-sort version-sort reverse check merge stable unique zero-terminated sort',
    longValues: 'key field-separator',
  }),
};

const judges: Record<string, Judge> = { ...readers, ...editors, ...others };

/** The name of a program: for a bare name, and for a path in a standard system directory. Other paths are their own name. */
export function programName(word: string): string {
  return /^\/(?:usr\/(?:local\/)?)?s?bin\/([^/]+)$/.exec(word)?.[1] ?? word;
}

/** Whether a mode allows a command: its options are known, and its paths are inside the workspace. */
export function runsFreely({ words: [program, ...args], inputs }: SimpleCommand, mode: 'minimal' | 'trusted', place: Place): boolean {
  const table = mode === 'trusted' ? { ...readers, ...editors } : readers;
  const name = ownName(table, program?.text);
  return table[name]?.(args, place) === true && areModest(args) && inputs.every((text) => isInside({ text, glob: false }, place));
}

/**
 * Whether a command is one of those of the modes, wherever its paths lead. Not `pwd`, which is a part of the shell: the program of that name resolves
 * links.
 */
export function onlyReads([program, ...args]: readonly ShellWord[]): boolean {
  const table = { ...readers, ...editors };
  const name = ownName(table, program?.text);
  // Whether `sed` may edit depends on the place.
  return name !== 'pwd' && table[name]?.(name === 'sed' ? args.filter(({ text }) => !editsInPlace.test(text)) : args) === true;
}

/**
 * Whether a command does more than its name says: `find` that deletes, `sort` that writes, `awk` that runs a program. When in doubt, yes.
 * Reading elsewhere doesn't count.
 */
export function reachesFurther([program, ...args]: readonly ShellWord[], place: Place): boolean {
  const name = programName(program?.text ?? '');
  if (name === 'git' && !isReading(args)) return gitReachesFurther(args.map(({ text }) => text));
  if (packageManagers.has(name))
    return packageManagerReachesFurther(
      name,
      args.map(({ text }) => text),
    );
  const judge = judges[ownName(judges, name)];
  return judge !== undefined && !judge(args) && !(name === 'sed' && judge(args, place));
}

/** Whether a git command only reads. Even then git runs programs that the settings of the repository name. */
export function isReadingGit([program, ...args]: readonly ShellWord[]): boolean {
  return programName(program?.text ?? '') === 'git' && isReading(args);
}

function ownName(table: object, word: string | undefined): string {
  const name = programName(word ?? '');
  return Object.hasOwn(table, name) ? name : '';
}

const findTests = {
  alone:
    '-print -print0 -ls -empty -prune -quit -true -false -depth -xdev -mount -not -a -and -o -or -nouser -nogroup -noleaf ! ( ) ,'.split(
      ' ',
    ),
  text: '-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname -type -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -links -inum -user -group -uid -gid -printf'.split(
    ' ',
  ),
  path: '-newer -anewer -cnewer -samefile'.split(' '),
};

/** The target of a symbolic link is examined wherever it is, as with `-readable`. */
const typeOfLinked = /%[^a-zA-Z%]*Y/;

function findsOnly(args: readonly ShellWord[], place?: Place): boolean {
  const paths: ShellWord[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as ShellWord;
    const isTest = !arg.glob && /^[-(),!]/.test(arg.text);
    if (!isTest) paths.push(arg);
    else if (findTests.text.includes(arg.text) || findTests.path.includes(arg.text)) {
      const value = args[(at += 1)];
      if (!value || value.glob || (arg.text === '-printf' && typeOfLinked.test(value.text))) return false;
      if (findTests.path.includes(arg.text)) paths.push(value);
    } else if (!findTests.alone.includes(arg.text) && !(arg.text === '-P' && at === 0)) return false;
  }
  return allInside(paths, place);
}

const diffFlags = 'puswbzaRW';
const diffOptions =
  'patch no-patch raw stat numstat shortstat summary name-only name-status patch-with-stat dirstat compact-summary minimal patience histogram color no-color color-words word-diff no-renames find-renames find-copies full-index abbrev check exit-code quiet ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines function-context text no-prefix no-ext-diff no-textconv pickaxe-all pickaxe-regex unified diff-filter inter-hunk-context diff-algorithm no-color-moved color-moved relative';
/** Numbers are attached to these options: a following word is an operand. */
const diffNumbers = /^-(\d+|[MC]\d*%?|U\d+)$/;
const logOptions =
  'oneline graph all decorate no-decorate abbrev-commit no-abbrev-commit pretty format since after until before author committer grep all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp follow reverse merges no-merges first-parent date relative-date topo-order date-order author-date-order tags branches remotes max-count skip left-right cherry-pick boundary full-history simplify-by-decoration walk-reflogs no-walk parents children cc';

/** Like `known`, for the operands of git, which may be revisions or paths. */
function knownOfGit(options: KnownOptions, more: (found: Arguments) => boolean = () => true): Judge {
  return known(options, (found, place) => more(found) && found.paths.every((operand) => isPlainOperand(operand, place)));
}

/** More colons than in the name of a normal revision. */
const mostColons = 5;

/**
 * Whether an operand of git names only a revision, a path, or a path within a revision. With a leading colon git finds files by other
 * rules: `:/x` and `:(top)x` from the top of the repository. Text after a colon is checked as a path, because git reads attributes there.
 */
function isPlainOperand({ text, glob }: ShellWord, place?: Place): boolean {
  if (place === undefined) return true;
  if (text.startsWith(':') && !/^:[0-3]:[^:]/.test(text)) return false;
  const parts = text.split(':');
  if (parts.length - 1 > mostColons) return false;
  const paths = parts.slice(1).map((_, at) => parts.slice(at + 1).join(':'));
  return paths.every((path) => path === '' || isInside({ text: path, glob }, place));
}

const log = knownOfGit(
  { flags: `${diffFlags}gmiEFPc`, values: 'nSG', other: diffNumbers, long: `${diffOptions} ${logOptions}` },
  plainFormat,
);

/** Git subcommands that read, with their known options. */
const gitReaders: Record<string, Judge> = {
  status: knownOfGit({
    flags: 'sbz',
    other: /^-u(no|normal|all)?$/,
    long: 'short branch porcelain long untracked-files ignored column no-column ahead-behind no-ahead-behind renames no-renames find-renames show-stash null',
  }),
  // Git also looks up the word after `-S` as a file, before it parses its options.
  diff: knownOfGit({ flags: diffFlags, other: /^-(\d+|[MC]\d*%?|U\d+|[SG].+)$/, long: `${diffOptions} cached staged merge-base` }),
  log,
  show: log,
  'rev-parse': knownOfGit({
    flags: 'q',
    long: 'abbrev-ref short verify quiet show-toplevel git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository show-prefix show-cdup all branches tags remotes symbolic symbolic-full-name',
  }),
  'ls-files': knownOfGit({
    flags: 'cdmosiktuvz',
    values: 'x',
    long: 'cached deleted modified others ignored stage unmerged killed exclude exclude-standard directory no-empty-directory error-unmatch full-name eol deduplicate abbrev',
  }),
  grep: knownOfGit({
    flags: 'nilLcwvEFPGhHoqaIrWpz',
    values: 'ABCe',
    other: number,
    long: 'cached untracked name-only files-with-matches files-without-match count heading break show-function function-context line-number column ignore-case word-regexp invert-match extended-regexp fixed-strings perl-regexp only-matching all-match and or not quiet color no-color full-name max-depth no-textconv context after-context before-context max-count recursive no-recursive',
    texts: 1,
    unless: 'e',
  }),
};

/**
 * Rejects format placeholders that run something: those with `(` can run git again, and `%G` runs the program that checks signatures. A sign
 * that controls the preceding blanks may be in front of each.
 */
function plainFormat({ options, paths }: Arguments): boolean {
  return [...options.map(([, value]) => value ?? ''), ...paths.map(({ text }) => text)].every((text) => !/%[-+ ]?[G(]/.test(text));
}

/** Whether git only reads, in the workspace itself, in a repository whose settings run nothing. Elsewhere it may find another repository. */
function gitReads(args: readonly ShellWord[], place?: Place): boolean {
  const [subcommand, ...rest] = args[0]?.text === '--no-pager' ? args.slice(1) : args;
  const judge = gitReaders[ownName(gitReaders, subcommand?.text)];
  return judge?.(rest, place) === true && (place === undefined || hasPlainRepository(place));
}

function isReading([subcommand]: readonly ShellWord[]): boolean {
  return ownName(gitReaders, subcommand?.text) !== '';
}

/** For subcommands that a rule may allow: options that make git run something, or that come before the subcommand. */
function gitReachesFurther([subcommand = '', ...args]: string[]): boolean {
  return (
    subcommand.startsWith('-') ||
    args.some(
      (arg) =>
        abbreviates(arg, 'output', 'ext-diff', 'open-files-in-pager', 'upload-pack', 'receive-pack', 'exec', 'config', 'template') ||
        // In a format: `%G?` in a log, `%(signature)` in a list of branches or tags.
        /%[-+ ]?(G|\(\*?(signature|describe))/.test(arg) ||
        (subcommand === 'rebase' && /^-[^-]*x/.test(arg)) ||
        (subcommand === 'clone' && /^-[^-]*[cu]/.test(arg)),
    )
  );
}

/** Whether an argument is one of these long options, or may be an abbreviation of one. */
function abbreviates(arg: string, ...options: string[]): boolean {
  const name = /^--([^=]+)/.exec(arg)?.[1];
  return name !== undefined && options.some((option) => option.startsWith(name));
}

const packageManagers = new Set(['npm', 'pnpm', 'yarn', 'bun', 'npx', 'pnpx', 'bunx']);
/** Their first operand is a program, and the words after it are for that program. */
const packageRunners = new Set(['npx', 'pnpx', 'bunx']);

/**
 * Options with which a package manager runs the same scripts, of the same package, in the same shell. Every setting can be given as an option,
 * with one dash or three, after `no-` and in capitals. So this is a list of allowed options, not of refused ones.
 */
const packageManagerFlags = new Set(
  '-s --silent -q --quiet --verbose --color --no-color --progress --no-progress --if-present --no-update-notifier --no-audit --no-fund --ignore-scripts --offline --prefer-offline --json --dry-run -D --save-dev -E --save-exact -O --save-optional -P --save-prod --no-save --legacy-peer-deps --frozen-lockfile --production --omit=dev'.split(
    ' ',
  ),
);

/** Whether an argument is an option that is not in that list. Words after `--` are for the script. */
function packageManagerReachesFurther(name: string, args: readonly string[]): boolean {
  const end = args.findIndex((arg) => arg === '--' || (packageRunners.has(name) && !arg.startsWith('-')));
  return args.slice(0, end === -1 ? undefined : end).some((arg) => arg.startsWith('-') && !packageManagerFlags.has(arg));
}

const editsInPlace = /^-(-in-place|[nErsuz]*i)/;

function sedsOnly({ options, texts, paths }: Arguments, place?: Place): boolean {
  const scripts = [...texts, ...options.filter(([name]) => name === 'e' || name === 'expression').map(([, value]) => value ?? '')];
  const plain = scripts.length > 0 && scripts.every(isPlainSedScript);
  const inPlace = options.filter(([name]) => editsInPlace.test(name));
  if (!plain || inPlace.length === 0) return plain;
  // Each file is also copied, to its name with the suffix: `sed -i.json … package` writes `package.json`.
  const copied = inPlace.map(([name]) => /\.\w+$/.exec(name)?.[0] ?? '');
  return (
    place !== undefined &&
    paths.every((path) => ['', ...copied].every((suffix) => isEditable({ ...path, text: path.text + suffix }, place)))
  );
}

function isEditable(path: ShellWord, place: Place): boolean {
  if (path.glob || !isInside(path, place)) return false;
  return place.folders.every((folder) => !touchesKept(isAbsolute(path.text) ? path.text : join(folder, path.text), place.root));
}
