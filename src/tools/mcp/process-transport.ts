import { type ChildProcess, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { deserializeMessage, type JSONRPCMessage, serializeMessage } from '@modelcontextprotocol/client';
import { bounds } from '../../core/bounds';
import { CommandProcesses } from '../built-in/command-processes';
import { commandEnvironment } from '../built-in/shell-environment';
import { watched } from '../built-in/watcher';
import { SecretMask } from '../running/secret-mask';
import type { EndableTransport } from './bounded-transport';
import { LastText } from './last-text';
import { Lines } from './lines';
import type { McpProcess } from './options';
import { Rate } from './rate';

/** Replaces itself by the server. */
const launcher = `${watched}
  watched "$1" "$2"
  shift 2
  exec "$@"`;

/** Time for a server to end after its input was closed, and then after SIGTERM. */
const graceMs = 1_000;
/** Time to read the last messages of a server that has ended. */
const drainMs = 200;
/** How much of what a server has last written to stderr is kept, to explain its death. */
const keptErrorChars = 2_000;

/**
 * A server in a process group of its own. It ends with the connection, and with this process, however suddenly that dies: all its processes, also
 * those that left the group (see `CommandProcesses`). The SDK's own transport ends only the process that it started, which for `npx` is not the
 * server.
 */
export class ProcessTransport implements EndableTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #processes = new CommandProcesses();
  readonly #lines = new Lines(bounds.mcpMessageBytes, bounds.mcpMessageValues);
  readonly #others = new Rate(bounds.mcpMessages);
  #child: ChildProcess | undefined;
  #heard = false;
  #ended: Promise<void> = Promise.resolve();
  readonly #said: LastText;
  #how = '';

  constructor(
    private readonly server: McpProcess,
    /** The server exceeds a limit. */
    private readonly onExcess: (why: string) => void,
  ) {
    const values = Object.values(server.environment ?? {}).filter((value) => value !== undefined);
    this.#said = new LastText(keptErrorChars, new SecretMask(values));
  }

  /** How the server has ended, and what it last wrote to stderr; empty while it runs. */
  get lastWords(): string {
    return [this.#how, this.#said.toString().trim()].filter((words) => words !== '').join(': ');
  }

  start(): Promise<void> {
    // Not the worker's folder, which may be someone else's: npx runs what it finds in a `node_modules` there.
    const { command, args = [], environment = {}, folder = homedir() } = this.server;
    const { mark, limit } = this.#processes;
    const child = spawn('/bin/sh', ['-c', launcher, 'longhaul', mark, limit, command, ...args], {
      cwd: folder,
      env: commandEnvironment(environment, folder),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    // An error of a pipe without a listener would end this process. A process that could not be started may have no pipes.
    for (const pipe of child.stdio ?? []) pipe?.on('error', () => {});
    child.stdout?.on('data', (chunk: Buffer) => this.#take(chunk));
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => this.#said.add(piece));
    return new Promise((started, failed) => {
      child.once('spawn', started);
      this.#ended = new Promise((ended) => {
        child.once('error', (error) => {
          failed(new Error(`it can't be started in ${folder}: ${error.message}`));
          ended();
        });
        child.once('exit', (code, signal) => {
          this.#how = this.#neverBegan(code) ?? `it ended with ${signal ?? `exit code ${code}`}`;
          void this.#endAll(child).then(ended);
        });
      });
    });
  }

  /** A shell that can't replace itself by the command ends with these codes. */
  #neverBegan(code: number | null): string | undefined {
    if (this.#heard || (code !== 127 && code !== 126)) return undefined;
    const why = code === 127 ? 'was not found: install it, or give its full path' : "can't be run: is it executable?";
    return `its command ${JSON.stringify(this.server.command)} ${why}`;
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {};
    return new Promise((sent, failed) => {
      if (stdin && stdin.writableLength > bounds.mcpMessageBytes) this.onExcess('it does not read what it is sent');
      if (!stdin?.writable) failed(new Error(this.lastWords || 'the connection is closed'));
      else stdin.write(serializeMessage(message), (error) => (error ? failed(error) : sent()));
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return this.#ended;
    if (child.pid !== undefined) this.#processes.look(child.pid);
    child.stdin?.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await Promise.race([this.#ended, sleep(graceMs, undefined, { ref: false })]);
      if (child.exitCode !== null || child.signalCode !== null) break;
      signalGroup(child, signal);
    }
    return this.#ended;
  }

  kill(): void {
    if (!this.#child) return;
    for (const pipe of this.#child.stdio) pipe?.destroy();
    signalGroup(this.#child, 'SIGKILL');
  }

  #take(chunk: Buffer): void {
    this.#heard = true;
    const lines = this.#lines.add(chunk);
    if (!lines) return this.onExcess(`it sent a message of more than ${bounds.mcpMessageBytes} bytes or ${bounds.mcpMessageValues} values`);
    for (const line of lines) {
      const message = messageOf(line);
      if (message) this.onmessage?.(message);
      else if (!this.#others.add()) return this.onExcess(`it wrote more than ${bounds.mcpMessages} lines that are no messages within 10 s`);
    }
  }

  /** Ends what the server left behind, which may hold its pipes open, and reads what is still in them. */
  async #endAll(child: ChildProcess): Promise<void> {
    const closed = new Promise((resolve) => child.once('close', resolve));
    signalGroup(child, 'SIGKILL');
    await this.#processes.end();
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
    for (const pipe of child.stdio) pipe?.destroy();
    this.onclose?.();
  }
}

/** Returns undefined for a line that is no message: some servers print logs. */
function messageOf(line: string): JSONRPCMessage | undefined {
  try {
    return deserializeMessage(line);
  } catch {
    return undefined;
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has no processes left.
  }
}
