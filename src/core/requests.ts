import { bytesOf } from './context/carry';
import { excerpt, isObject } from './json';
import type { Content, Part } from './message';
import { activeRun, type CallState, isOver, type ThreadState } from './state';
import { type ToolOutput, toContent } from './tool';

/** What may be asked of a thread from outside. Each is a signal and an update of this name. */
export interface CancelRequest {
  reason?: string;
  by?: string;
}
export interface SendRequest {
  input: Content;
  /** The caller's id for the message: sent twice, it is taken in once. */
  id?: string;
}
export interface SubmitRequest {
  outputs: ToolOutput[];
}
export interface DecisionRequest {
  toolCallId: string;
  /** Default true. */
  approved?: boolean;
  by?: string;
  reason?: string;
  /** Replaces the model's arguments; checked against the tool before it takes effect. */
  arguments?: Record<string, unknown>;
}

export const maxMessageBytes = 1_500_000;
const maxQueue = 100;
/** They cross continue-as-new, and stand in one event: each is one payload, of which the server takes 2 MiB. */
const maxQueueBytes = 1_600_000;
const maxEditedBytes = 500_000;
const maxWords = 4_000;

/** A request that was understood, or why it can't be followed, in words for whoever asked. */
export type Checked<T> = { ok: true; request: T } | { ok: false; reason: string };

const yes = <T>(request: T): Checked<T> => ({ ok: true, request });
const no = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });

export function checkCancel(state: ThreadState, payload: unknown): Checked<CancelRequest> {
  if (payload !== undefined && payload !== null && typeof payload !== 'string' && !isObject(payload)) {
    return no(`cancel takes nothing, a reason, or { reason, by }; it was given ${show(payload)}`);
  }
  const { reason, by } = (typeof payload === 'string' ? { reason: payload } : (payload ?? {})) as Record<string, unknown>;
  const words = checkWords({ reason, by });
  if (words) return no(`cancel: ${words}`);
  if (state.run && !activeRun(state) && state.queue.length === 0) {
    return no(`there is no run to cancel: run ${state.run.id} of thread "${state.threadId}" is ${state.run.status}`);
  }
  return yes({ ...(reason ? { reason: reason as string } : {}), ...(by ? { by: by as string } : {}) });
}

export function checkSend(state: ThreadState, payload: unknown): Checked<SendRequest> {
  const request = typeof payload === 'string' || Array.isArray(payload) ? { input: payload } : payload;
  if (!isObject(request)) return no(`sendMessage takes a text, a list of parts, or { input, id }; it was given ${show(payload)}`);
  const wrong = checkInput(request.input);
  if (wrong) return no(wrong);
  if (request.id !== undefined && (typeof request.id !== 'string' || !/^(?!msg_)[\w.:-]{1,128}$/.test(request.id))) {
    return no(
      `sendMessage: id must be 1 to 128 letters, digits or . _ : - and not begin with msg_, which ours do; it is ${show(request.id)}`,
    );
  }
  if (state.closed || (state.mode === 'one-shot' && state.run && isOver(state.run))) {
    return no(`thread "${state.threadId}" is closed to new messages; start a new thread`);
  }
  if (state.queue.length > 0 && bytesOf(state.queue) + bytesOf(request.input) > maxQueueBytes) {
    return no(`messages of ${bytesOf(state.queue)} bytes already wait in thread "${state.threadId}"; wait for the run to take them in`);
  }
  if (state.queue.length >= maxQueue)
    return no(`${maxQueue} messages already wait in thread "${state.threadId}"; wait for the run to take them in`);
  return yes({ input: request.input as Content, ...(request.id ? { id: request.id as string } : {}) });
}

export function checkSubmit(state: ThreadState, payload: unknown): Checked<SubmitRequest> {
  const outputs: unknown = isObject(payload) ? payload.outputs : payload;
  if (!Array.isArray(outputs) || outputs.length === 0) {
    return no(`submitToolOutputs takes { outputs: [{ toolCallId, output }] }; it was given ${show(payload)}`);
  }
  const seen = new Set<string>();
  const accepted: ToolOutput[] = [];
  for (const [i, item] of outputs.entries()) {
    // The Assistants API writes tool_call_id, and its users should not have to think about it.
    const id: unknown = isObject(item) ? (item.toolCallId ?? item.tool_call_id) : undefined;
    if (!isObject(item) || typeof id !== 'string') return no(`submitToolOutputs: outputs[${i}] has no toolCallId`);
    if (!('output' in item)) return no(`submitToolOutputs: outputs[${i}] ("${id}") has no output`);
    if (item.isError !== undefined && typeof item.isError !== 'boolean')
      return no(`submitToolOutputs: outputs[${i}].isError must be true or false`);
    if (seen.has(id)) return no(`submitToolOutputs: "${id}" is answered twice; each pending call is answered exactly once`);
    const wrong = notWaitingFor(state, id, 'awaiting-output');
    if (wrong) return no(`submitToolOutputs: ${wrong}`);
    seen.add(id);
    accepted.push({ toolCallId: id, output: item.output, ...(item.isError ? { isError: true } : {}) });
  }
  // As the model will see them: what is not text becomes JSON, and JSON within JSON is longer.
  if (bytesOf(accepted.map(({ output }) => toContent(output))) > maxMessageBytes)
    return no(`submitToolOutputs: the outputs are larger than ${maxMessageBytes} bytes; store them elsewhere and submit a reference`);
  return yes({ outputs: accepted });
}

export function checkDecision(state: ThreadState, payload: unknown): Checked<DecisionRequest> {
  const request = typeof payload === 'string' ? { toolCallId: payload } : payload;
  if (!isObject(request) || typeof request.toolCallId !== 'string') {
    return no(`approve takes { toolCallId, approved?, by?, reason?, arguments? }; it was given ${show(payload)}`);
  }
  const { toolCallId, approved = true, by, reason, arguments: edited } = request;
  if (typeof approved !== 'boolean') return no(`approve: approved must be true or false; it is ${show(approved)}`);
  const words = checkWords({ reason, by });
  if (words) return no(`approve: ${words}`);
  if (edited !== undefined && !isObject(edited)) return no(`approve: arguments must be an object; it is ${show(edited)}`);
  if (edited !== undefined && !approved) return no('approve: a refusal has no arguments to edit');
  // In an activity's input they are JSON within JSON, which at worst doubles them.
  if (edited !== undefined && bytesOf(JSON.stringify(edited)) > maxEditedBytes) {
    return no(`approve: the edited arguments are larger than ${maxEditedBytes} bytes; store what is large where the tool can read it`);
  }
  const wrong = notWaitingFor(state, toolCallId, 'awaiting-approval');
  if (wrong) return no(`approve: ${wrong}`);
  return yes({
    toolCallId,
    approved,
    ...(by ? { by: by as string } : {}),
    ...(reason ? { reason: reason as string } : {}),
    ...(edited ? { arguments: edited } : {}),
  });
}

/** Why this can't be a message, or undefined. */
export function checkInput(input: unknown): string | undefined {
  if (typeof input === 'string') {
    if (input.trim() === '') return 'the input is empty: give a text, or parts with a text or an image';
  } else if (!Array.isArray(input)) {
    return `the input must be a text or a list of parts ({ type: "text", text } or { type: "image", url }); it is ${show(input)}`;
  } else {
    if (input.length === 0) return 'the input is empty: give a text, or parts with a text or an image';
    const wrong = input.map(checkPart).find((reason) => reason !== undefined);
    if (wrong) return wrong;
  }
  const bytes = bytesOf(input);
  return bytes > maxMessageBytes
    ? `the input has ${bytes} bytes; at most ${maxMessageBytes} fit into a message: store it where the agent's tools can read it and send a reference`
    : undefined;
}

function checkPart(part: unknown, i: number): string | undefined {
  const known = part as Part;
  if (!isObject(part)) return `part ${i} of the input must be an object; it is ${show(part)}`;
  if (known.type === 'text') return typeof known.text === 'string' ? undefined : `part ${i} of the input has no text`;
  if (known.type !== 'image') return `part ${i} of the input has the type ${show(part.type)}; known are "text" and "image"`;
  return typeof known.url === 'string' && /^(https?:\/\/|data:image\/)/.test(known.url)
    ? undefined
    : `part ${i} of the input is an image without a usable url (https: or data:image/…)`;
}

function notWaitingFor(state: ThreadState, id: string, phase: CallState['phase']): string | undefined {
  const calls = activeRun(state)?.calls ?? [];
  const call = calls.find((c) => c.id === id);
  if (call?.phase === phase) return undefined;
  const what = phase === 'awaiting-output' ? 'an output' : 'an approval';
  const waiting = calls.filter((c) => c.phase === phase).map((c) => `"${c.id}" (${c.name})`);
  const hint =
    waiting.length > 0 ? `; ${waiting.join(', ')} ${waiting.length === 1 ? 'does' : 'do'}` : `; nothing in thread "${state.threadId}" does`;
  if (!call) {
    const decided = state.messages.some((m) => m.role === 'tool' && m.toolCallId === id);
    return decided ? `"${id}" was answered already` : `"${id}" does not wait for ${what}${hint}`;
  }
  const was: Record<CallState['phase'], string> = {
    done: 'has its outcome already',
    running: 'was decided already and is running',
    ready: 'was decided already',
    'awaiting-approval': 'waits for an approval, not for an output',
    'awaiting-output': 'waits for its output, not for an approval',
  };
  return `"${id}" (${call.name}) ${was[call.phase]}${hint}`;
}

function checkWords(words: Record<string, unknown>): string | undefined {
  for (const [name, value] of Object.entries(words)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'string') return `${name} must be a text; it is ${show(value)}`;
    if (value.length > maxWords) return `${name} has ${value.length} characters; at most ${maxWords}`;
  }
  return undefined;
}

/** A value as it can stand in an error message. */
export function show(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // A circle or a bigint: not JSON, and still to be named.
  }
  return excerpt(text ?? String(value), 120);
}
