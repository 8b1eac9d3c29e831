import { bounds } from '../core/bounds';
import { checkDepth, checkInput, checkName, show } from '../core/check-input';
import { bytesOf } from '../core/context/carry';
import type { HookAnswer, HookName } from '../core/hooks';
import { isBytes, isObject } from '../core/json';
import type { Content } from '../core/message';
import { wellFormedJson } from '../core/text';
import { checkSettings } from '../core/thread-input';
import { messageOfThrown } from '../core/thrown';
import { boundedContent, writeJson } from '../core/write-json';
import { problemOfAsk } from './check-ask';

export type Fields = Record<string, unknown>;

/** Returns the problem of a field, if any. */
type Check = (value: unknown) => string | undefined;

/** Merged answers are one payload, which the server limits to 2 MiB: the largest fields of one name together stay below that. */
const maxInstructionBytes = 500_000;
const maxWordBytes = 4_000;
/** More than any valid answer, so that the checks of the fields report which field is too large. */
const mostChars = 2_500_000;

const flag: Check = (value) => (typeof value === 'boolean' ? undefined : `must be true or false; it is ${show(value)}`);
const anything: Check = () => undefined;

const within =
  (max: number, check: Check): Check =>
  (value) =>
    check(value) ?? (bytesOf(value) > max ? `has ${bytesOf(value)} bytes; at most ${max}` : undefined);

const text = (max: number): Check =>
  within(max, (value) => (typeof value === 'string' ? undefined : `must be a string; it is ${show(value)}`));

/** Rejects a blank text: an empty `block` would count as none, and let through what should be blocked. */
const words = (max = maxWordBytes): Check =>
  within(max, (value) =>
    typeof value === 'string' && value.trim() !== '' ? undefined : `must be a string that is not blank; it is ${show(value)}`,
  );

const args: Check = within(bounds.editedBytes, (value) => (isObject(value) ? undefined : `must be an object; it is ${show(value)}`));

const contents: Check = within(bounds.messageBytes, (value) => {
  if (!Array.isArray(value)) return `must be a list of user messages, each a string or a list of parts; it is ${show(value)}`;
  const at = value.findIndex((content) => checkInput(content) !== undefined);
  return at === -1 ? undefined : `[${at}]: ${checkInput(value[at])}`;
});

const checks: { [N in HookName]: Record<keyof HookAnswer[N], Check> } = {
  'before:execution': { messages: contents, block: words() },
  'after:execution': {},
  'pause:check': { pause: flag, reason: text(maxWordBytes) },
  'before:llm': {
    model: (value) => checkName('', value)?.trim(),
    settings: checkSettings,
    instructions: text(maxInstructionBytes),
    skip: flag,
    block: words(),
  },
  'after:llm': { text: text(bounds.answerBytes), block: words() },
  'before:tool': { args, skip: flag, mockResult: anything, block: words() },
  'after:tool': { content: anything, retry: flag, block: words() },
  'approve:tool': { approved: flag, reason: text(maxWordBytes), ask: problemOfAsk, args, stop: flag },
  'check:completion': { prompt: words(maxInstructionBytes) },
  'on:compaction': {},
  'on:event': {},
};

/**
 * Validates a hook's answer, and returns a JSON copy, so that the hook can't change it later; or an error. No answer counts as an empty answer.
 * `cap` shortens the content that the model receives.
 */
export function checkAnswer(
  name: HookName,
  value: unknown,
  cap: (content: Content) => Content = (content) => content,
): { answer: Fields } | { error: string } {
  try {
    return check(name, value, cap);
  } catch (error) {
    // A proxy that throws when it is read.
    return { error: `returned an invalid answer: it can't be read (${messageOfThrown(error)})` };
  }
}

function check(name: HookName, value: unknown, cap: (content: Content) => Content): { answer: Fields } | { error: string } {
  if (value === undefined || value === null) return { answer: {} };
  const nonsense = (why: string) => ({ error: `returned an invalid answer: ${why}` });
  if (!isObject(value) || isBytes(value))
    return nonsense(`${Array.isArray(value) ? 'a list' : isBytes(value) ? 'bytes' : show(value)} is not an object`);
  let answer: Fields;
  try {
    answer = plain(name, value, cap);
  } catch (error) {
    return nonsense(`it can't be written as JSON (${messageOfThrown(error)})`);
  }
  const tooDeep = checkDepth('it', answer);
  if (tooDeep) return nonsense(tooDeep);
  const known: Record<string, Check> = checks[name];
  for (const [field, given] of Object.entries(answer)) {
    const check = Object.hasOwn(known, field) ? known[field] : undefined;
    if (!check) return nonsense(`${show(field)} is not known; ${name} may answer ${Object.keys(known).join(', ') || 'nothing'}`);
    const wrong = check(given);
    if (wrong) return nonsense(wrong.startsWith('settings') ? wrong : `${field} ${wrong}`);
  }
  return answer.stop === true && answer.approved !== false ? nonsense('stop goes with approved: false') : { answer };
}

/** A JSON copy without undefined fields, and with results in the form of message content. */
function plain(name: HookName, value: Fields, cap: (content: Content) => Content): Fields {
  const { content, mockResult } = value;
  const results: Fields = {};
  if (name === 'after:tool' && content !== undefined) results.content = cap(boundedContent(content));
  if (name === 'before:tool' && mockResult !== undefined) results.mockResult = short(mockResult, cap);
  const { text, isCut } = writeJson({ ...value, ...results }, mostChars) ?? { text: '{}', isCut: false };
  if (isCut) throw new RangeError(`it has more than ${mostChars} characters`);
  return wellFormedJson(JSON.parse(text) as Fields, bounds.payloadDepth);
}

/** The value itself (also `false` or 0), or its shortened content if it is too large for the model. */
function short(value: unknown, cap: (content: Content) => Content): unknown {
  const whole = boundedContent(value);
  const capped = cap(whole);
  return isSame(capped, whole) ? value : capped;
}

/** Whether nothing was cut from a text or parts. */
function isSame(a: Content, b: Content): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  const said = (part: Content[number] | undefined) =>
    typeof part === 'string' || !part ? part : part.type === 'text' ? part.text : part.url;
  return a.length === b.length && a.every((part, at) => said(part) === said(b[at]));
}
