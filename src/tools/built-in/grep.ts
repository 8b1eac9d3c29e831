import { join } from 'node:path';
import { z } from 'zod';
import { defineTool, type ToolContext } from '../defining/define-tool';
import { maxOutputBytes } from '../running/output-cap';
import { filesIn } from './glob';
import { shownPath } from './list-dir';
import { openWorkspace } from './open-workspace';
import { searchPlainly } from './plain-search';
import { inTurn, runRipgrep, targetOf } from './ripgrep';

const timeoutMs = 30_000;
/** Longer lines are cut. */
const mostColumns = 500;
/** Space for the last line within the limit of a result. */
const footerBytes = 256;

const input = z.object({
  pattern: z.string().min(1).max(1_000).describe('A regular expression in the syntax of ripgrep, for one line.'),
  path: z.string().min(1).default('.').describe('The folder or file to search, relative to the workspace.'),
  include: z.string().min(1).max(1_000).optional().describe('Only files that match this glob, such as "*.ts" or "src/**/*.ts".'),
  ignore_case: z.boolean().default(false),
  literal: z.boolean().default(false).describe('The pattern is a text, not a regular expression.'),
  context: z.number().int().min(0).max(20).default(0).describe('Lines to show before and after each match.'),
  files_only: z.boolean().default(false).describe('Only the names of the files, not the lines.'),
  limit: z.number().int().min(1).max(1_000).default(100).describe('How many matching lines (or files) at most.'),
});

type GrepArguments = z.output<typeof input>;

/**
 * Searches files by a regular expression, in the order of their paths, without those that `.gitignore` excludes and without binary files. Lines with a
 * match come as `L{n}: text` below the path of their file, lines around them as `L{n}- text`.
 */
export const grepFiles = defineTool({
  name: 'grep',
  description:
    'Search the contents of files by a regular expression. Below the path of each file, lines with a match come as "L{number}: {text}", lines around them as "L{number}- {text}". Sorted by path. Leaves out what .gitignore excludes, .git, binary files, and what is behind symbolic links.',
  input,
  effect: 'pure',
  timeoutMs: timeoutMs + 5_000,
  execute: (args, ctx) => inTurn(() => search(args, ctx)),
});

async function search(args: GrepArguments, ctx: ToolContext): Promise<string> {
  const workspace = await openWorkspace(ctx.workspace, ctx);
  const target = await targetOf(workspace, args.path);
  const shown = (name: string) => shownPath(workspace.show(join(target.folder, name)));
  const { local } = workspace;
  if (!local) {
    const results = new Results(args, shown, undefined);
    const { pattern, literal, context, ignore_case: ignoreCase, files_only: filesOnly, include: glob, limit: maxMatches } = args;
    await searchPlainly(workspace, target, {
      ...{ pattern, literal, context, ignoreCase, filesOnly, maxMatches, maxBytes: maxOutputBytes, signal: ctx.signal },
      ...(glob !== undefined && { glob }),
      onRecord: (record) => results.add(record),
    });
    return results.text(false);
  }
  const begun = performance.now();
  // A glob also finds files that `.gitignore` excludes.
  const listed = args.include === undefined ? undefined : new Set((await filesIn(workspace, target, ctx.signal)).files);
  const results = new Results(args, shown, listed);
  const { timedOut } = await runRipgrep(local, target, {
    args: argumentsOf(args),
    ...(args.include !== undefined && { glob: args.include }),
    separator: args.files_only ? '\0' : '\n',
    onRecord: (record) => results.add(record),
    signal: ctx.signal,
    timeoutMs: Math.max(1, timeoutMs - (performance.now() - begun)),
  });
  return results.text(timedOut);
}

function argumentsOf({ pattern, ignore_case: ignoreCase, literal, context, files_only: filesOnly }: GrepArguments): string[] {
  return [
    `--regexp=${pattern}`,
    '--null',
    '--with-filename',
    // What was found is shown even if the time is over.
    '--line-buffered',
    ...(ignoreCase ? ['--ignore-case'] : []),
    ...(literal ? ['--fixed-strings'] : []),
    ...(filesOnly
      ? ['--files-with-matches']
      : [
          '--no-heading',
          '--line-number',
          `--max-columns=${mostColumns}`,
          '--max-columns-preview',
          `--context=${context}`,
          '--no-context-separator',
        ]),
  ];
}

/** The lines of the answer, as many as fit. */
class Results {
  readonly #lines: string[] = [];
  #bytes = 0;
  #matches = 0;
  #file = '';
  #isCut = false;

  constructor(
    private readonly args: GrepArguments,
    private readonly shown: (name: string) => string,
    /** The files that may be shown. Default: all. */
    private readonly listed: ReadonlySet<string> | undefined,
  ) {}

  /** Takes a line of ripgrep's output, or a name of a file with `files_only`; returns whether more are wanted. */
  add(record: string): boolean {
    return this.args.files_only ? this.#addFile(record) : this.#addLine(record);
  }

  text(timedOut: boolean): string {
    const noun = this.args.files_only ? 'files' : 'matches';
    const seconds = timeoutMs / 1_000;
    if (timedOut) this.#lines.push(`[stopped after ${seconds} s: search a narrower path]`);
    else if (this.#isCut) this.#lines.push(`[... more ${noun} ...: use a narrower pattern, path or include, or a higher limit]`);
    return this.#lines.length === 0 ? 'No matches found.' : this.#lines.join('\n');
  }

  #addFile(name: string): boolean {
    const file = name.replace(/^\.\//, '');
    if (this.listed && !this.listed.has(file)) return true;
    return this.#isRoomForMatch() && this.#push(this.shown(file));
  }

  #addLine(record: string): boolean {
    const [path = '', line] = record.split('\0', 2);
    // ripgrep says in a line of its own that a file is binary.
    const [, number, sign, text = ''] = /^(\d+)([:-])(.*)$/s.exec(line ?? '') ?? [];
    const file = path.replace(/^\.\//, '');
    if (number === undefined || (this.listed && !this.listed.has(file))) return true;
    if (sign === ':' && !this.#isRoomForMatch()) return false;
    if (file !== this.#file && !this.#push(this.shown(file))) return false;
    this.#file = file;
    return this.#push(`L${number}${sign} ${text.replace(/\r$/, '')}`);
  }

  #isRoomForMatch(): boolean {
    this.#matches += 1;
    if (this.#matches > this.args.limit) this.#isCut = true;
    return !this.#isCut;
  }

  #push(line: string): boolean {
    this.#bytes += Buffer.byteLength(line) + 1;
    if (this.#bytes > maxOutputBytes - footerBytes) this.#isCut = true;
    else this.#lines.push(line);
    return !this.#isCut;
  }
}
