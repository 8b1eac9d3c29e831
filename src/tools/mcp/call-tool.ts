import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { shortText } from '../../core/text';
import type { ToolContext } from '../defining/define-tool';
import { errorFacts } from '../defining/thrown';
import { ToolFailure } from '../defining/tool-failure';
import type { McpConnection } from './connection';
import { type Credentials, McpCredentialsError } from './credentials';
import { resultContent } from './result-content';
import type { McpSession } from './session';

interface Called {
  server: string;
  connection: McpConnection;
  credentials: Credentials;
  /** The call was repeated already. */
  isRepeated?: boolean;
}

/** An answer of HTTP that says that the server doesn't know the session, so it has carried out nothing. */
const unknownSession = 404;
const refusedCredentials = 401;
const messageChars = 1_000;

/**
 * Calls a tool. An error that the server reports is a `ToolFailure`, which is not repeated. A lost connection is another error: `pure` and `keyed`
 * calls are repeated over a new connection.
 */
export async function callTool(called: Called, tool: McpTool, args: Record<string, unknown>, ctx: ToolContext): Promise<unknown> {
  const { connection, credentials } = called;
  const session = await connection.session();
  const shown = { signal: ctx.signal, progress: (words: string) => ctx.progress(credentials.mask.text(words)) };
  const result = await session.call(tool, args, shown).catch((error: unknown) => again(called, session, error, tool, args, shown));
  const content = resultContent(result, credentials.mask);
  if (result.isError) throw new ToolFailure(content, { name: 'McpToolError' });
  return content;
}

/** Repeats the call, once, if the server has forgotten the session. Otherwise throws what the model is told. */
async function again(
  called: Called,
  session: McpSession,
  error: unknown,
  ...call: Parameters<McpSession['call']>
): ReturnType<McpSession['call']> {
  const { server, connection, credentials, isRepeated = false } = called;
  const { signal } = call[2];
  if (signal.aborted) throw error;
  const message = shortText(credentials.safeMessage(errorFacts(error).message), messageChars);
  if (error instanceof McpCredentialsError)
    throw new Error(`There are no credentials for the MCP server '${server}', so the call was not sent: ${message}`);
  if (statusOf(error) === refusedCredentials) {
    const renewed = credentials.canRefresh ? ', also after they were renewed' : '';
    throw new ToolFailure(`Error: The MCP server '${server}' refused the worker's credentials (401)${renewed}: ${message}`, {
      name: 'McpError',
    });
  }
  if (isAnswer(error)) throw new ToolFailure(`Error: The MCP server '${server}' refused the call: ${message}`, { name: 'McpError' });
  await connection.drop(session);
  if (statusOf(error) === unknownSession && !isRepeated) {
    const another = await connection.session();
    return another.call(...call).catch((failure: unknown) => again({ ...called, isRepeated: true }, another, failure, ...call));
  }
  throw new Error(
    `The connection to the MCP server '${server}' was lost during the call, which may have been carried out or not: ${message}`,
  );
}

/** Whether the server has answered, so that the connection is fine: by an error of the protocol, by a result that is not one, or by 403. */
function isAnswer(error: unknown): boolean {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return name === 'ProtocolError' || answers.includes(code) || statusOf(error) === 403;
}

const answers: unknown[] = ['INVALID_RESULT', 'UNSUPPORTED_RESULT_TYPE', 'CAPABILITY_NOT_SUPPORTED', 'INPUT_REQUIRED_ROUNDS_EXCEEDED'];

function statusOf(error: unknown): number | undefined {
  return (error as { status?: number }).status;
}
