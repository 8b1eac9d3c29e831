import { bounds } from '../../core/bounds';
import type { Tool } from '../defining/define-tool';
import type { ToolsWanted } from '../defining/tool-provider';
import { withinPatience } from '../defining/within';
import type { McpServer, McpUser } from './options';
import { ServerTools } from './server-tools';
import { goneTool } from './stand-ins';
import { isOfServer } from './tool-name';

/** The tools of one server for each of its users, who share neither connections nor credentials nor lists. */
export class UserTools {
  /** Those used last are at the end. */
  readonly #byUser = new Map<string, ServerTools>();
  #hasFailed = false;

  constructor(
    private readonly name: string,
    private readonly server: McpServer,
    private readonly userOf: McpUser,
    private readonly warn: (message: string) => void,
  ) {}

  /** Returns the tools of the thread's user; none if it has no user. Never rejects. */
  async tools(wanted: ToolsWanted): Promise<readonly Tool[]> {
    const user = await this.#userOf(wanted.threadId);
    if (user !== undefined) return this.#of(user).tools(wanted);
    const { calling } = wanted;
    if (calling === undefined || !isOfServer(this.name, calling)) return [];
    return [goneTool(this.name, calling, `The MCP server '${this.name}' has no user for this thread. The call was not carried out.`)];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#byUser.values()].map((tools) => tools.close()));
  }

  async #userOf(threadId: string): Promise<string | undefined> {
    try {
      const user = await withinPatience(() => this.userOf({ threadId }));
      this.#hasFailed = false;
      return typeof user === 'string' && user !== '' ? user : undefined;
    } catch (error) {
      // Once for each failure, because every step asks again. The message may contain what the function looked up.
      const name = error instanceof Error ? error.name : 'a value';
      if (!this.#hasFailed) this.warn(`The tools of the MCP server '${this.name}' are left out: its function user threw ${name}.`);
      this.#hasFailed = true;
      return undefined;
    }
  }

  #of(user: string): ServerTools {
    const tools = this.#byUser.get(user) ?? new ServerTools(this.name, this.server, this.warn, user);
    this.#byUser.delete(user);
    this.#byUser.set(user, tools);
    const [oldest] = this.#byUser;
    if (oldest && this.#byUser.size > bounds.mcpUsers) {
      this.#byUser.delete(oldest[0]);
      void oldest[1].retire();
    }
    return tools;
  }
}
