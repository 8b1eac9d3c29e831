import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname } from 'node:path';
import { ownFolder } from '../../core/own-folder';
import { ToolFailure } from '../defining/tool-failure';
import { fewAtOnce } from '../running/few-at-once';
import type { LocalFolder, Workspace } from './workspace';

/** Longer records are cut: a line of output is bounded by `--max-columns`, a path by the system. */
const mostRecordBytes = 64 * 1024;
const mostErrorBytes = 2_000;
/** The address space of ripgrep, which compiles all rules of all ignore files of the workspace. */
const mostMemoryBytes = 512 * 1024 * 1024;
const prlimit = '/usr/bin/prlimit';

/**
 * No configuration, no settings of the machine's git; no files of git and longhaul. Symbolic links are not followed, which is the default. Hidden
 * files are searched, because many of a project's settings are such files.
 */
const always = ['--no-config', '--no-ignore-global', '--no-messages', '--no-mmap', '--color=never', '--hidden', '--sort=path'];
const excluded = ['.git', ownFolder].map((name) => `--glob=!${name}`);

/**
 * Runs a search of a tool, at most two at the same time in a process: a model may request a hundred at once. Each starts processes, which blocks the
 * process for the longer the more memory it has, and keeps lists of files.
 */
export const inTurn = fewAtOnce(2);

export interface Search {
  /** Arguments, without globs and paths. */
  args: readonly string[];
  /** A glob that names of files must match. It also finds files that `.gitignore` excludes. */
  glob?: string;
  /** Takes each record of the output; `false` ends the search. */
  onRecord(record: string): boolean;
  /** What separates records. */
  separator: '\n' | '\0';
  signal: AbortSignal;
  timeoutMs: number;
}

/** A folder or a file in which to search. Paths in the output are relative to `folder`. */
export interface Target {
  folder: string;
  /** The file's name in the folder. Default: the whole folder. */
  name?: string;
}

export async function targetOf(workspace: Workspace, path: string): Promise<Target> {
  const real = await workspace.inside(path);
  const found = await workspace.stat(real);
  return found?.isFile() ? { folder: dirname(real), name: basename(real) } : { folder: real };
}

/**
 * Runs ripgrep without a shell. Its folder is opened first, so that one that is replaced by a link in the meantime is not searched. Returns
 * whether the search was ended by the time limit. Throws `ToolFailure` if ripgrep refuses the arguments, or is not installed.
 */
export async function runRipgrep(local: LocalFolder, { folder, name = '' }: Target, search: Search): Promise<{ timedOut: boolean }> {
  const { args, glob, onRecord, separator, signal, timeoutMs } = search;
  if ([...args, glob].some((text) => text?.includes('\0'))) throw new ToolFailure('Error: a pattern can not have a null character.');
  // The call may have waited for its turn.
  signal.throwIfAborted();
  const globs = [...(glob === undefined ? [] : [`--glob=${glob}`]), ...excluded];
  const opened = await local.openFolder(folder);
  try {
    return await new Promise((done, fail) => {
      const [command, ...limit] = limited(program());
      const child = spawn(command, [...limit, ...always, ...args, ...globs, '--', `./${name}`], {
        cwd: opened.path,
        env: {},
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let [errors, isEnough, timedOut, isStopped] = ['', false, false, false];
      const stop = () => {
        isStopped = true;
        child.kill('SIGKILL');
      };
      const timer = setTimeout(() => {
        timedOut = true;
        stop();
      }, timeoutMs);
      signal.addEventListener('abort', stop, { once: true });
      const records = new Records(separator, (record) => {
        isEnough ||= !onRecord(record);
        if (isEnough) stop();
        return !isEnough;
      });
      child.stdout.on('data', (chunk: Buffer) => records.add(chunk));
      child.stderr.on('data', (chunk: Buffer) => {
        if (errors.length < mostErrorBytes) errors += chunk.toString('utf8', 0, mostErrorBytes);
      });
      const settle = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
      };
      child.once('error', (error) => {
        settle();
        fail(error);
      });
      child.once('close', (code) => {
        settle();
        // 0: found, 1: nothing found, 2: an error, possibly only with some files.
        if (code === 2 && errors.trim() !== '') fail(new ToolFailure(`Error: ripgrep refused the search: ${errors.trim()}`));
        else if (signal.aborted) fail(signal.reason);
        else if (code === null && !isStopped) fail(new ToolFailure(outOfMemory));
        else done({ timedOut });
      });
    });
  } finally {
    await opened.handle.close();
  }
}

const outOfMemory =
  'Error: ripgrep needed more memory than it may use. Perhaps ignore files of the workspace (.gitignore, .ignore) are very long, or the pattern is.';

/** The program and its arguments, with a limit of its memory where the system has `prlimit`. */
function limited(program: string): [command: string, ...args: string[]] {
  return existsSync(prlimit) ? [prlimit, `--as=${mostMemoryBytes}`, '--core=0', program] : [program];
}

class Records {
  #rest = Buffer.alloc(0);
  readonly #separator: number;

  constructor(
    separator: '\n' | '\0',
    /** Returns whether more are wanted. */
    private readonly take: (record: string) => boolean,
  ) {
    this.#separator = separator.charCodeAt(0);
  }

  add(chunk: Buffer): void {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let at = bytes.indexOf(this.#separator); at !== -1; at = bytes.indexOf(this.#separator, from)) {
      if (!this.take(bytes.toString('utf8', from, Math.min(at, from + mostRecordBytes)))) return;
      from = at + 1;
    }
    this.#rest = bytes.subarray(from, from + mostRecordBytes);
  }
}

/** The program for this platform, which npm installs as an optional dependency of the package. */
function program(): string {
  const own = `@vscode/ripgrep-${process.platform}-${process.arch}`;
  try {
    const ofPackage = createRequire(createRequire(__filename).resolve('@vscode/ripgrep'));
    return ofPackage.resolve(`${own}/bin/rg${process.platform === 'win32' ? '.exe' : ''}`);
  } catch {
    throw new ToolFailure(
      `Error: ripgrep is not installed (the package ${own}). Search with the shell, and tell the person that it is missing.`,
    );
  }
}
