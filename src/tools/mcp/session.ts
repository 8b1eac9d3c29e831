import {
  type CallToolResult,
  Client,
  type Tool as McpTool,
  ProtocolError,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { bounds } from '../../core/bounds';
import { longestTimeoutMs, type ToolContext } from '../defining/define-tool';
import { errorFacts } from '../defining/thrown';
import { BoundedTransport, type EndableTransport } from './bounded-transport';
import type { CallQuestions } from './call-questions';
import type { Credentials } from './credentials';
import { httpFetch } from './http-fetch';
import { isProcess, type McpServer } from './options';
import { ProcessTransport } from './process-transport';

/** The tools that a server has listed, as far as they were read. */
export interface ListedTools {
  tools: McpTool[];
  /** The list has more than were read. */
  isCut: boolean;
}

/** An open connection to a server. */
export interface McpSession {
  /** Reads the tools with these names, or all. */
  list(isWanted: (name: string) => boolean): Promise<ListedTools>;
  /** `questions`: of this call, if the server may ask. Then no other call may run over the connection. */
  call(tool: McpTool, args: Record<string, unknown>, ctx: CallContext): Promise<CallToolResult>;
  close(): Promise<void>;
}

export interface CallContext extends Pick<ToolContext, 'signal' | 'progress'> {
  questions?: CallQuestions;
}

export interface SessionOptions {
  startTimeoutMs: number;
  credentials: Credentials;
  /** The server says that its list of tools has changed. */
  onChange(): void;
  /** The connection is over, and why as far as that is known. */
  onClose(why: string): void;
}

/** Time to tell a server over HTTP that its session has ended. */
const farewellMs = 1_000;

/** Starts or reaches a server. Rejects if it does not answer in time. */
export async function openSession(server: McpServer, options: SessionOptions): Promise<McpSession> {
  const { startTimeoutMs: timeout, credentials, onChange, onClose } = options;
  const onExcess = (why: string) => transport.end(why);
  const inner = isProcess(server) ? new ProcessTransport(server, onExcess) : httpTransport(server.url, credentials, onExcess);
  const transport: BoundedTransport = new BoundedTransport(inner);
  const lastWords = () => transport.whyEnded || (inner instanceof ProcessTransport ? inner.lastWords : '');
  /** The SDK only says that the connection was closed. */
  const throwWhy = (error: unknown) => {
    throw transport.whyEnded === '' ? error : new Error(transport.whyEnded);
  };
  const client = new Client(
    { name: 'longhaul', version: '1' },
    {
      ...(server.questions && {
        capabilities: { elicitation: { form: {}, url: {} } },
        inputRequired: { maxRounds: bounds.callQuestions + 1 },
      }),
      // Over HTTP, servers of the protocol's later versions need no session. A process has one anyway, and some end at requests that they don't know.
      versionNegotiation: { mode: isProcess(server) ? 'legacy' : 'auto', probe: { timeoutMs: timeout } },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onChange } },
      // The SDK would compile the server's output schemas on the event loop, where a pattern may never end.
      jsonSchemaValidator: { getValidator: () => (value: unknown) => ({ valid: true, data: value as never, errorMessage: undefined }) },
    },
  );
  let asking: CallQuestions | undefined;
  if (server.questions) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      // Outside of a call nobody could be asked.
      const answer = (await asking?.answer(params)) ?? { action: 'decline' as const };
      if ('refused' in answer) throw new ProtocolError(ProtocolErrorCode.InvalidParams, answer.refused);
      return answer;
    });
  }
  client.onclose = () => onClose(lastWords());
  try {
    await client.connect(transport, { timeout });
  } catch (error) {
    await client.close().catch(() => undefined);
    await transport.close().catch(() => undefined);
    const words = lastWords();
    throw words === '' ? error : new Error(transport.whyEnded || `${errorFacts(error).message}; ${words}`);
  }
  return {
    list: (isWanted) => listTools(client, isWanted, timeout).catch(throwWhy),
    // The schema of the output is left out, because the SDK would check the result with it.
    call({ outputSchema: _, ...tool }, args, { signal, progress, questions }) {
      asking = questions;
      return client
        .callTool(
          { name: tool.name, arguments: args },
          {
            signal,
            // The signal has the tool's timeout.
            timeout: longestTimeoutMs,
            toolDefinition: tool,
            onprogress: ({ message, progress: done, total }) => progress(progressWords(done, total, message)),
          },
        )
        .catch(throwWhy)
        .finally(() => {
          if (asking === questions) asking = undefined;
        });
    },
    async close() {
      client.onclose = undefined;
      if (inner instanceof StreamableHTTPClientTransport) await within(farewellMs, inner.terminateSession());
      await client.close();
    },
  };
}

function httpTransport(url: string | URL, credentials: Credentials, onExcess: (why: string) => void): EndableTransport {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: httpFetch(credentials, onExcess),
    reconnectionOptions: {
      initialReconnectionDelay: soonestMs,
      maxReconnectionDelay: latestMs,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
    reconnectionScheduler: reconnectLater,
  });
  return Object.assign(transport, { kill: () => void transport.close() });
}

/** When a stream of a server over HTTP is opened again: not as soon as the server asks for, which may be immediately. */
const soonestMs = 1_000;
const latestMs = 30_000;

export function reconnectLater(reconnect: () => void, delayMs: number): () => void {
  const timer = setTimeout(reconnect, Math.min(latestMs, Math.max(soonestMs, delayMs)));
  return () => clearTimeout(timer);
}

async function listTools(client: Client, isWanted: (name: string) => boolean, timeoutMs: number): Promise<ListedTools> {
  if (!client.getServerCapabilities()?.tools) return { tools: [], isCut: false };
  const end = performance.now() + timeoutMs;
  const found: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < bounds.mcpListPages; page++) {
    const timeout = Math.max(1, end - performance.now());
    // Not `listTools`, which reads all pages, however large they are.
    const { tools, nextCursor } = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      { timeout, maxTotalTimeout: timeout },
    );
    const wanted = tools.filter(({ name }) => isWanted(name));
    const room = bounds.mcpTools - found.length;
    found.push(...wanted.slice(0, room));
    if (wanted.length > room) return { tools: found, isCut: true };
    if (nextCursor === undefined) return { tools: found, isCut: false };
    cursor = nextCursor;
  }
  return { tools: found, isCut: true };
}

function progressWords(done: number, total?: number, message?: string): string {
  const share = total === undefined ? String(done) : `${done}/${total}`;
  return message ? `${share} ${message}` : share;
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
