import { isUtf8 } from 'node:buffer';
import { ArtifactError, type Artifacts } from '../artifacts';
import { failureTypes } from '../contract/activities';
import { parseArtifactUrl } from '../core/artifact-url';
import { isCleared } from '../core/context/shorten';
import type { DurableEvent } from '../core/event';
import { gone } from '../core/log';
import type { Content, OutputRef, Part } from '../core/message';
import { messageOfThrown } from '../core/thrown';
import { LonghaulError, type LonghaulErrorCode } from './errors';

/** The whole output of a tool call. */
export interface WholeOutput {
  name: string;
  /** A text, the parts with the content of their images and files, or bytes that are no text. Of parts that had to be shortened, the texts. */
  content: Content | Buffer;
  outputRef?: OutputRef;
}

/** Finds a call's output in the thread's events, and reads from the store what is not in them. */
export async function wholeOutput(
  threadId: string,
  toolCallId: string,
  events: readonly DurableEvent[],
  artifacts: Artifacts | undefined,
): Promise<WholeOutput> {
  const found = outputIn(events, toolCallId);
  if (!found) throw unavailable(threadId, toolCallId, 'the call has no output, or not yet, or its events are no longer kept');
  const { name, output, outputRef } = found;
  const read = async (id: string): Promise<Buffer> => {
    if (!artifacts)
      throw unavailable(
        threadId,
        toolCallId,
        'the client has no artifact store: give it that of the workers (LONGHAUL_ARTIFACTS, or the option `artifacts`)',
      );
    try {
      return await artifacts.read(threadId, id);
    } catch (error) {
      throw unavailable(threadId, toolCallId, whyUnread(error, id), lacksKey(error) ? 'encryption-key-missing' : undefined);
    }
  };
  if (outputRef && (outputRef.trimmed || isShortened(output, outputRef))) {
    const bytes = await read(outputRef.id);
    return { name, content: isUtf8(bytes) ? bytes.toString('utf8') : bytes, outputRef };
  }
  if (output === gone || isCleared({ content: output }))
    throw unavailable(threadId, toolCallId, 'it was removed to shorten the thread, and not stored');
  const inlined = typeof output === 'string' ? output : await Promise.all(output.map((part) => withContent(part, read)));
  return { name, content: inlined, ...(outputRef && { outputRef }) };
}

/** The newest outcome of the call: a background call has a placeholder first. */
function outputIn(events: readonly DurableEvent[], id: string): { name: string; output: Content; outputRef?: OutputRef } | undefined {
  for (const { type, data } of events.toReversed()) {
    if (type === 'agent.tool.execution.completed' && data.toolCallId === id) return data;
    if (type !== 'agent.tool.background.completed' || data.toolCallId !== id) continue;
    const { name, message, outputRef } = data;
    return { name, output: message.role === 'user' ? message.content : '', ...(outputRef && { outputRef }) };
  }
  return undefined;
}

/** Whether the output was removed from the transcript, to shorten it: then it is a text of another size. */
function isShortened(output: Content, { bytes }: OutputRef): boolean {
  return typeof output === 'string' && Buffer.byteLength(output) !== bytes;
}

async function withContent(part: Part, read: (id: string) => Promise<Buffer>): Promise<Part> {
  const stored = part.type === 'text' ? undefined : parseArtifactUrl(part.url);
  if (part.type === 'text' || !stored) return part;
  return { ...part, url: `data:${stored.mediaType};base64,${(await read(stored.id)).toString('base64')}` };
}

/** The messages of the store are for the model, which can call its tool again. */
function whyUnread(error: unknown, id: string): string {
  const kind = error instanceof ArtifactError ? error.kind : undefined;
  if (kind === 'missing') {
    return `the store does not have it (${id}). It was deleted, or the workers use another store: give the client theirs (LONGHAUL_ARTIFACTS, or the option \`artifacts\`)`;
  }
  return kind === 'damaged' ? `its bytes in the store have changed (${id})` : messageOfThrown(error);
}

/** Whether this client lacks the key of the output. */
function lacksKey(error: unknown): boolean {
  return error instanceof ArtifactError && (error.cause as Error | undefined)?.name === failureTypes.keyUnavailable;
}

function unavailable(threadId: string, toolCallId: string, why: string, code: LonghaulErrorCode = 'output-unavailable'): LonghaulError {
  return new LonghaulError(code, `The output of call "${toolCallId}" of thread "${threadId}" can't be read: ${why}`);
}
