import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { messageOfThrown } from '../../core/thrown';
import type { Tool, ToolContext } from '../defining/define-tool';
import type { ToolsWanted } from '../defining/tool-provider';
import { callTool } from './call-tool';
import { McpConnection, McpUnavailableError } from './connection';
import { Credentials } from './credentials';
import { ExclusiveConnections } from './exclusive-connections';
import { mapTools } from './map-tool';
import { defaultStartTimeoutMs, isProcess, type McpServer } from './options';
import { connectTool, goneTool } from './stand-ins';
import { isOfServer } from './tool-name';

/** How long a model call waits for a list that is already known, or whose server could not be reached before. */
const patienceMs = 5_000;
/** Servers over HTTP may not be able to say that their list has changed. */
const freshMs = 300_000;

/** The tools of one server, or of one of its users, as this worker knows them. */
export class ServerTools {
  readonly #connection: McpConnection;
  /** For a server that may ask people questions: its connections. */
  readonly #exclusive: ExclusiveConnections | undefined;
  readonly #credentials: Credentials;
  readonly #connector: Tool;
  #tools: readonly Tool[] | undefined;
  #isStale = true;
  #readAt = 0;
  #reading: Promise<void> | undefined;
  #hasTried = false;
  /** Why the tools are not known. */
  #why = '';
  /** Calls and readings of the list. */
  #working = 0;
  #isRetired = false;
  /** The patterns that a warning has named. */
  #saidUnchecked = '';

  constructor(
    private readonly name: string,
    private readonly server: McpServer,
    private readonly warn: (message: string) => void,
    user?: string,
  ) {
    const known = isProcess(server) ? Object.values(server.environment ?? {}).filter((value) => value !== undefined) : [];
    this.#credentials = new Credentials(isProcess(server) ? undefined : server.credentials, known, user);
    this.#connector = connectTool(name, () => this.#connect());
    const connection = () =>
      new McpConnection(name, server, this.#credentials, () => {
        this.#isStale = true;
      });
    this.#connection = connection();
    this.#exclusive = server.questions && new ExclusiveConnections(this.#connection, connection);
  }

  /** Returns the tools; those last known if the server can't be reached. Never rejects. */
  async tools({ calling }: ToolsWanted): Promise<readonly Tool[]> {
    const isOld = !isProcess(this.server) && performance.now() - this.#readAt > freshMs;
    if (this.#isStale || isOld) {
      const isFirst = !this.#hasTried;
      const reading = this.#readOnce();
      if (this.#isStale) await until(reading, isFirst ? (this.server.startTimeoutMs ?? defaultStartTimeoutMs) : patienceMs);
    }
    const tools = this.#tools ?? [this.#connector];
    if (calling === undefined || !isOfServer(this.name, calling) || tools.some(({ name }) => name === calling)) return tools;
    const standIn = calling === this.#connector.name ? this.#connector : goneTool(this.name, calling, this.#tools ? undefined : this.#why);
    return [...tools, standIn];
  }

  close(): Promise<void> {
    this.#isStale = true;
    return this.#exclusive ? this.#exclusive.close() : this.#connection.close();
  }

  /** Closes the connection as soon as no call uses it. A call that begins later opens it, and it is closed again afterwards. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    if (this.#working === 0) await this.close();
  }

  async #work<T>(work: () => Promise<T>): Promise<T> {
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
      if (this.#isRetired && this.#working === 0) await this.close();
    }
  }

  #readOnce(): Promise<void> {
    this.#reading ??= this.#work(() => this.#read()).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Reads the list. A failure keeps the list that is known. */
  async #read(): Promise<void> {
    try {
      // A change that is announced from here on makes the list stale again.
      const session = await this.#connection.session();
      this.#isStale = false;
      const { only } = this.server;
      const { tools: listed, isCut } = await session
        .list((name) => !only || only.includes(name))
        .catch(async (error: unknown) => {
          await this.#connection.drop(session);
          throw new McpUnavailableError(this.name, this.#credentials.safeMessage(messageOfThrown(error)), '');
        });
      const { mask } = this.#credentials;
      const { tools, leftOut, unchecked } = await mapTools(this.name, this.server, listed, (tool) => this.#executeOf(tool), mask);
      this.#readAt = performance.now();
      this.#tools = Object.freeze(tools);
      if (isCut) this.warn(`The MCP server '${this.name}' lists more tools than are offered; choose those that are needed with only.`);
      const why = this.#credentials.safeMessage(leftOut.slice(0, 10).join('; '));
      if (why !== '') this.warn(`Tools of the MCP server '${this.name}' are left out: ${why}.`);
      this.#sayUnchecked(unchecked);
    } catch (error) {
      this.#isStale = true;
      this.#why = messageOfThrown(error);
      if (!this.#hasTried) this.warn(this.#why);
    } finally {
      this.#hasTried = true;
    }
  }

  /** Once for the same patterns. */
  #sayUnchecked(unchecked: readonly string[]): void {
    const patterns = this.#credentials.safeMessage(unchecked.slice(0, 10).join('; '));
    if (patterns !== '' && patterns !== this.#saidUnchecked) {
      this.warn(
        `The MCP server '${this.name}' has patterns that are not regular expressions of JavaScript in its Unicode mode. Only the server checks them: ${patterns}.`,
      );
    }
    this.#saidUnchecked = patterns;
  }

  async #connect(): Promise<string[]> {
    await this.#readOnce();
    if (this.#isStale) throw new Error(this.#why);
    return (this.#tools ?? []).map(({ name }) => name);
  }

  #executeOf(tool: McpTool): NonNullable<Tool['execute']> {
    const parts = { server: this.name, credentials: this.#credentials, mayAsk: this.#exclusive !== undefined };
    const call = (connection: McpConnection, args: unknown, ctx: ToolContext) =>
      callTool({ ...parts, connection }, tool, args as Record<string, unknown>, ctx);
    return (args, ctx) =>
      this.#work(() => (this.#exclusive ? this.#exclusive.use((own) => call(own, args, ctx)) : call(this.#connection, args, ctx)));
  }
}

/** Waits for the work to end, at most for this time. */
async function until(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
