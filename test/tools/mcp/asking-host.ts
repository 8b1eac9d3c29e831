import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { McpServer } from '../../../src/tools/mcp/options';

const file = join(__dirname, 'asking-server.mjs');

export interface AskingServer {
  server: McpServer;
  /** What the server noted, a line each. */
  notes(): string[];
  /** The file with its notes. */
  file: string;
}

const folder = mkdtempSync(join(tmpdir(), 'longhaul-asking-'));
const running: ChildProcess[] = [];
let count = 0;

export function askingOverStdio(questions: McpServer['questions'] | undefined): AskingServer {
  const { notes, path } = noteFile();
  return { server: { command: process.execPath, args: [file, 'stdio', path], ...(questions && { questions }) }, notes, file: path };
}

/** `sessions`: the server sends requests of its own. `modern`: its results say that input is required. */
export async function askingOverHttp(way: 'sessions' | 'modern', questions: McpServer['questions'] | undefined): Promise<AskingServer> {
  const { notes, path } = noteFile();
  const child = spawn(process.execPath, [file, way, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  running.push(child);
  const [port] = (await createInterface(child.stdout as NodeJS.ReadableStream)
    [Symbol.asyncIterator]()
    .next()
    .then(({ value }) => [value])) as string[];
  return { server: { url: `http://127.0.0.1:${port}/mcp`, ...(questions && { questions }) }, notes, file: path };
}

export function endAskingServers(): void {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

function noteFile() {
  const path = join(folder, `notes-${count++}`);
  const notes = () => {
    try {
      return readFileSync(path, 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  };
  return { notes, path };
}
