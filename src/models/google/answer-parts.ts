import { bounds } from '../../core/bounds';
import { isObject, type Json, type JsonObject } from '../../core/json';
import type { AnswerPart, HostedToolPart } from '../../core/message';
import type { ModelDelta } from '../model';
import { LimitExceeded } from '../wire/limit-exceeded';
import { neutralName } from './hosted-tools';
import { PartialArguments } from './partial-arguments';

/** The parts of a hosted tool, as received. `behind`: the number of other parts between its call and its result. */
export type HostedParts = { use: JsonObject; result?: JsonObject; behind?: number };

type Hosted = HostedToolPart & { opaque: HostedParts };

/** A part while it is streamed. `pieces` are its text so far, `partial` its arguments. */
interface Draft {
  part: AnswerPart;
  pieces?: string[];
  partial?: PartialArguments;
  call?: number;
}

/** Collects the parts of a content that arrives in chunks. A part with a signature is not merged with others, because it is sent back unchanged. */
export function collectParts(onDelta: (delta: ModelDelta) => void) {
  const drafts: Draft[] = [];
  const hosted = new Map<string, Hosted>();
  const placeOf = new Map<Hosted, number>();
  /** `open`: the text to which the next piece is added. `calling`: the call whose arguments are still arriving. */
  let open: Draft | undefined;
  let calling: Draft | undefined;
  let calls = 0;
  let said = 0;
  let reasoning = 0;
  let opaque = 0;

  function take(part: Record<string, unknown>, responseId: string): void {
    const signature = textIn(part.thoughtSignature);
    addOpaque(signature.length);
    if (isObject(part.functionCall)) return takeCall(part.functionCall, signature);
    if (isObject(part.executableCode)) return begin('code-execution', part, part.executableCode, responseId);
    if (isObject(part.codeExecutionResult)) return end('code-execution', part, part.codeExecutionResult, responseId);
    if (isObject(part.toolCall)) return begin(neutralName(textIn(part.toolCall.toolType)), part, part.toolCall, responseId);
    if (isObject(part.toolResponse)) return end(neutralName(textIn(part.toolResponse.toolType)), part, part.toolResponse, responseId);
    if (isObject(part.inlineData)) return takeData(part.inlineData, part.thought === true, signature);
    if (isObject(part.fileData)) return takeFile(part.fileData, signature);
    if (typeof part.text === 'string' || signature !== '') takeText(textIn(part.text), part.thought === true, signature);
  }

  function add(draft: Draft): Draft {
    if (drafts.length >= bounds.answerParts) throw new LimitExceeded('its answer', bounds.answerParts, 'parts');
    drafts.push(draft);
    open = undefined;
    return draft;
  }

  function takeText(text: string, isThought: boolean, signature: string): void {
    if (text === '' && signature === '') return;
    const type = isThought ? 'reasoning' : 'text';
    if (signature !== '') add({ part: { type, text: '', opaque: { signature } }, pieces: [text] });
    else if (open?.part.type === type) open.pieces?.push(text);
    else open = add({ part: { type, text: '' }, pieces: [text] });
    if (text === '') return;
    onDelta({ type, text });
    if (!isThought) said += text.length;
    else reasoning += text.length;
    if (reasoning > bounds.reasoningChars) throw new LimitExceeded('its reasoning', bounds.reasoningChars, 'characters');
  }

  /** A call arrives complete; or its name arrives first, then its arguments value by value, then an empty call. */
  function takeCall({ name, id, args, partialArgs, willContinue }: Record<string, unknown>, signature: string): void {
    if (typeof name === 'string' && (name !== '' || !calling)) {
      calls++;
      if (calls > bounds.callsPerAnswer) throw new LimitExceeded('its answer', bounds.callsPerAnswer, 'tool calls');
      endCall();
      const hasId = typeof id === 'string' && id !== '';
      const kept = { ...(signature && { signature }), ...(hasId && { hasId }) };
      const part = {
        type: 'tool-call' as const,
        id: textIn(id),
        name,
        arguments: '{}',
        ...(Object.keys(kept).length > 0 && { opaque: kept }),
      };
      const draft = add({ part, call: calls - 1 });
      onDelta({ type: 'tool-call', index: calls - 1, id: part.id, name });
      if (args !== undefined && args !== null) return setArguments(draft, typeof args === 'string' ? args : JSON.stringify(args));
      draft.partial = new PartialArguments();
      calling = draft;
    }
    if (Array.isArray(partialArgs)) said += calling?.partial?.add(partialArgs) ?? 0;
    else if (willContinue !== true) endCall();
  }

  function endCall(): void {
    if (calling?.partial) setArguments(calling, calling.partial.text());
    calling = undefined;
  }

  function setArguments({ part, call = 0 }: Draft, text: string): void {
    if (part.type === 'tool-call') part.arguments = text;
    said += text.length;
    onDelta({ type: 'tool-call', index: call, arguments: text });
  }

  function begin(name: string, part: Record<string, unknown>, { id, ...use }: Record<string, unknown>, responseId: string): void {
    const { toolType: _, args, ...rest } = use;
    const input = (isObject(args) ? args : rest) as Json;
    const whole: Hosted = { type: 'hosted-tool', id: ownId(id, responseId), name, input, opaque: { use: part as JsonObject } };
    addOpaque(JSON.stringify(part).length);
    placeOf.set(whole, drafts.length);
    add({ part: whole });
    hosted.set(name, whole);
    if (typeof id === 'string') hosted.set(`${name} ${id}`, whole);
  }

  /** Adds a result to the call with the same id, or else to the last one. */
  function end(name: string, part: Record<string, unknown>, { id, ...result }: Record<string, unknown>, responseId: string): void {
    const whole = (typeof id === 'string' ? hosted.get(`${name} ${id}`) : undefined) ?? hosted.get(name);
    const { output, outcome, response } = result;
    const found = { output: (response ?? output ?? '') as Json, ...(/FAILED|EXCEEDED/.test(textIn(outcome)) && { isError: true }) };
    addOpaque(JSON.stringify(part).length);
    open = undefined;
    if (!whole || whole.opaque.result) {
      const alone: Hosted = {
        type: 'hosted-tool',
        id: ownId(id, responseId),
        name,
        input: {},
        ...found,
        opaque: { use: part as JsonObject },
      };
      add({ part: alone });
      return;
    }
    const behind = drafts.length - 1 - (placeOf.get(whole) ?? 0);
    Object.assign(whole, found);
    Object.assign(whole.opaque, { result: part, ...(behind > 0 && { behind }) });
  }

  function ownId(id: unknown, responseId: string): string {
    return textIn(id) || `${responseId || 'hosted'}-${drafts.length}`;
  }

  /** Images that the model draws while it thinks are not part of the answer. */
  function takeData({ mimeType, data }: Record<string, unknown>, isThought: boolean, signature: string): void {
    if (isThought) return signature === '' ? undefined : takeText('', true, signature);
    const mediaType = textIn(mimeType) || 'application/octet-stream';
    const url = `data:${mediaType};base64,${textIn(data)}`;
    said += url.length;
    takeMedia(url, mediaType, signature);
  }

  function takeFile({ mimeType, fileUri }: Record<string, unknown>, signature: string): void {
    if (typeof fileUri !== 'string') return;
    said += fileUri.length;
    takeMedia(fileUri, textIn(mimeType) || 'application/octet-stream', signature);
  }

  function takeMedia(url: string, mediaType: string, signature: string): void {
    const kept = signature ? { opaque: { signature } } : {};
    add({ part: mediaType.startsWith('image/') ? { type: 'image', url, ...kept } : { type: 'file', url, mediaType, ...kept } });
  }

  function addOpaque(chars: number): void {
    opaque += chars;
    if (opaque > bounds.opaqueChars) throw new LimitExceeded('its opaque data', bounds.opaqueChars, 'characters of JSON');
  }

  function list(): AnswerPart[] {
    endCall();
    return drafts.map(({ part, pieces }) => (pieces && 'text' in part ? { ...part, text: pieces.join('') } : part));
  }

  function summary(): { hasCalls: boolean; isSilent: boolean } {
    const isSilent = drafts.every(({ part, pieces }) => part.type === 'reasoning' || (part.type === 'text' && pieces?.join('') === ''));
    return { hasCalls: calls > 0, isSilent };
  }

  return { take, list, summary, size: () => said, hostedNames: () => new Set([...hosted.values()].map(({ name }) => name)) };
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
