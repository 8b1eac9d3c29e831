import type { HostedTool } from '../../core/agent';
import { bounds } from '../../core/bounds';
import type { Json } from '../../core/json';
import type { HostedToolPart } from '../../core/message';
import { LimitExceeded } from '../wire/limit-exceeded';
import { argumentsOf, type Draft, hostedInput, metadataOf, textIn } from './drafts';
import type { Own } from './own';
import { plainJson } from './plain-json';
import { nameThere } from './request';

type Hosted = HostedToolPart & { opaque: Own };

/** Collects the tool calls of an answer, and the calls and results of hosted tools. */
export function foldCalls(
  { provider, count, push, onDelta }: Draft,
  hostedTools: readonly HostedTool[],
): { take(part: Record<string, unknown>): boolean } {
  /** The index of each call, set when the call begins. */
  const indexes = new Map<string, number>();
  const called = new Set<string>();
  const hosted = new Map<string, Hosted>();
  const ourNames = new Map(hostedTools.map((tool) => [nameThere(tool), tool.name]));
  let newestHosted = '';

  /** Returns whether the part belongs to a call. */
  function take(given: Record<string, unknown>): boolean {
    switch (given.type) {
      case 'tool-input-start':
        if (given.providerExecuted !== true) announce(textIn(given.id), textIn(given.toolName));
        return true;
      case 'tool-input-delta':
        addInput(textIn(given.id), textIn(given.delta));
        return true;
      case 'tool-input-end':
        return true;
      case 'tool-call':
        if (given.providerExecuted === true) takeHostedCall(given);
        else takeCall(given);
        return true;
      case 'tool-result':
        takeResult(given);
        return true;
      default:
        return false;
    }
  }

  /** Returns the index of a call. The first time, sends a delta for it. */
  function announce(id: string, name: string): number {
    const known = indexes.get(id);
    if (known !== undefined) return known;
    const index = indexes.size;
    if (index >= bounds.callsPerAnswer) throw new LimitExceeded('its answer', bounds.callsPerAnswer, 'tool calls');
    indexes.set(id, index);
    onDelta({ type: 'tool-call', index, id, name });
    return index;
  }

  /** Input pieces are only shown: the complete call arrives later. */
  function addInput(id: string, delta: string): void {
    count.shown(delta.length);
    const index = indexes.get(id);
    if (index !== undefined && delta !== '') onDelta({ type: 'tool-call', index, arguments: delta });
  }

  function takeCall(given: Record<string, unknown>): void {
    const id = textIn(given.toolCallId);
    const name = textIn(given.toolName);
    const text = argumentsOf(given.input, count);
    const isShown = indexes.has(id) && !called.has(id);
    // Some providers give several calls the same id.
    const index = announce(called.has(id) ? `${id}\n${indexes.size}` : id, name);
    called.add(id);
    if (!isShown && text !== '') onDelta({ type: 'tool-call', index, arguments: text });
    const kept = metadataOf(given.providerMetadata, count);
    push({ type: 'tool-call', id, name, arguments: text, ...(kept.metadata && { opaque: { provider, ...kept } }) });
  }

  function takeHostedCall(given: Record<string, unknown>): void {
    const id = textIn(given.toolCallId);
    const opaque: Own = { provider, tool: textIn(given.toolName), ...metadataOf(given.providerMetadata, count) };
    beginHosted(id, hostedInput(argumentsOf(given.input, count)), opaque);
    newestHosted = id;
  }

  function beginHosted(id: string, input: Json, opaque: Own): Hosted {
    const tool = opaque.tool ?? '';
    const made = { type: 'hosted-tool' as const, id, name: ourNames.get(tool) ?? tool.replaceAll('_', '-'), input, opaque };
    push(made);
    hosted.set(id, made);
    return made;
  }

  /** A later result of the same call replaces the earlier, preliminary one. */
  function takeResult(given: Record<string, unknown>): void {
    const id = textIn(given.toolCallId);
    const use = hosted.get(id) ?? beginHosted(id, {}, { provider, tool: textIn(given.toolName), isLate: true });
    use.output = plainJson(given.result, 'the result of a hosted tool', count.said);
    if (given.isError === true) use.isError = true;
    else delete use.isError;
    const { metadata } = metadataOf(given.providerMetadata, count);
    if (metadata) use.opaque.result = metadata;
    if (!use.opaque.isLate && newestHosted !== id) use.opaque.behind = newestHosted;
  }

  return { take };
}
