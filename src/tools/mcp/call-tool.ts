import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { bounds } from '../../core/bounds';
import type { Content } from '../../core/message';
import { shortText } from '../../core/text';
import { isCallQuestion } from '../defining/call-question';
import type { ToolContext } from '../defining/define-tool';
import { errorFacts } from '../defining/thrown';
import { isToolFailure, ToolFailure } from '../defining/tool-failure';
import { CallQuestions } from './call-questions';
import type { McpConnection } from './connection';
import { type Credentials, McpCredentialsError } from './credentials';
import { resultContent } from './result-content';
import type { CallContext, McpSession } from './session';

interface Called {
  server: string;
  connection: McpConnection;
  credentials: Credentials;
  /** The call was repeated already. */
  isRepeated?: boolean;
  /** The server may ask people questions, and no other call runs over the connection. */
  mayAsk: boolean;
}

/** An answer of HTTP that says that the server doesn't know the session, so it has carried out nothing. */
const unknownSession = 404;
const refusedCredentials = 401;
/** The error of a server whose call needs a person to visit an address first. */
const urlElicitationRequired = -32042;
const messageChars = 1_000;

/**
 * Calls a tool. An error that the server reports is a `ToolFailure`, which is not repeated. A lost connection is another error: `pure` and `keyed`
 * calls are repeated over a new connection. A question of the server to a person ends the call with `CallQuestion`.
 */
export async function callTool(called: Called, tool: McpTool, args: Record<string, unknown>, ctx: ToolContext): Promise<unknown> {
  const { server, credentials, mayAsk } = called;
  const progress = (words: string) => ctx.progress(credentials.mask.text(words));
  if (!mayAsk) return settled(called, tool, args, { signal: ctx.signal, progress });
  // The call may have been abandoned while it waited for a connection.
  ctx.signal.throwIfAborted();
  const questions = new CallQuestions(server, () => credentials.mask, ctx.answers);
  const ending = new AbortController();
  const signal = AbortSignal.any([ctx.signal, ending.signal]);
  const call = settled(called, tool, args, { signal, progress, questions });
  try {
    return withNotes(questions.notes, await Promise.race([call, questions.asked]));
  } catch (error) {
    if (isCallQuestion(error) || ctx.signal.aborted) await end(called, ending, call);
    else if (isToolFailure(error) && questions.notes.length > 0) {
      throw new ToolFailure(withNotes(questions.notes, error.content), error.details);
    }
    throw error;
  }
}

/**
 * Cancels a call that ended at a question, at its timeout or by a cancel. The connection is closed, because the server may still be at work on the call:
 * what it asks then would be taken for a question of the next call.
 */
async function end({ connection }: Called, ending: AbortController, call: Promise<unknown>): Promise<void> {
  call.catch(() => undefined);
  ending.abort(new Error('The call is over for now. If it waits for the answer of a person, it will be repeated with it.'));
  await connection.close();
}

async function settled(called: Called, tool: McpTool, args: Record<string, unknown>, shown: CallContext): Promise<Content> {
  const { connection, credentials } = called;
  const session = await connection.session();
  const result = await session
    .call(tool, args, shown)
    .catch(async (error: unknown) =>
      (error as { code?: unknown }).code === urlElicitationRequired && shown.questions
        ? visited(called, error, shown.questions)
        : again(called, session, error, tool, args, shown),
    );
  const content = resultContent(result, credentials.mask);
  if (result.isError) throw new ToolFailure(content, { name: 'McpToolError' });
  return content;
}

/** Asks a person to visit the addresses that a call needs, one after another. Each call that runs again begins from the first. */
async function visited({ server }: Called, error: unknown, questions: CallQuestions): Promise<never> {
  const { elicitations } = ((error as { data?: unknown }).data ?? {}) as { elicitations?: unknown };
  const asked: unknown[] = Array.isArray(elicitations) ? elicitations.slice(0, bounds.callQuestions) : [];
  const refused: string[] = [];
  for (const one of asked) {
    const answer = await questions.answer({ ...(one as object), mode: 'url' });
    if ('refused' in answer) refused.push(answer.refused);
    else if (answer.action !== 'accept') refused.push(`the user answered with ${answer.action}`);
  }
  const why = refused.length > 0 ? refused.join('; ') : 'it asks for it again although the user has done so';
  throw new ToolFailure(
    `Error: The MCP server '${server}' requires that a user visits an address before this call: ${shortText(why, messageChars)}.`,
    {
      name: 'McpError',
    },
  );
}

function withNotes(notes: readonly string[], content: Content): Content {
  if (notes.length === 0) return content;
  const text = `${notes.join('\n')}\n`;
  return typeof content === 'string' ? text + content : [{ type: 'text', text }, ...content];
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
