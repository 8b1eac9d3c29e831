import { bounds } from '../../core/bounds';
import { isObject } from '../../core/json';
import type { AnswerPart } from '../../core/message';
import type { ModelAnswer, ModelDelta, ModelRequest } from '../model';
import { Trouble } from '../wire/failure';
import { LimitExceeded } from '../wire/limit-exceeded';
import { foldBlocks } from './blocks';
import { foldCalls } from './calls';
import { type Draft, filePart, meter, sourcePart, unreadablePart } from './drafts';
import { troubleOf } from './failure';
import { isWithoutReason, toFinishReason, toUsage } from './finish';
import { heedWarnings } from './warnings';

/** Builds one answer from the parts of a stream. */
export interface PartFold {
  /** Returns whether the part is output of the model: a stream begins with parts that the package itself creates. */
  part(part: unknown): boolean;
  isFinished(): boolean;
  answer(): ModelAnswer;
}

export interface FoldOptions {
  request: ModelRequest;
  provider: string;
  /** Whether an answer without a finish reason of the vendor counts as truncated. */
  needsFinishReason: boolean;
  onSchemaLeftOut(): void;
  onDelta?: (delta: ModelDelta) => void;
}

export function foldParts({ request, provider, needsFinishReason, onSchemaLeftOut, onDelta = () => {} }: FoldOptions): PartFold {
  const count = meter();
  const parts: AnswerPart[] = [];
  const draft: Draft = { provider, count, push, onDelta };
  const blocks = foldBlocks(draft);
  const calls = foldCalls(draft, request.hostedTools ?? []);
  let finish: Record<string, unknown> | undefined;
  let events = 0;

  function push(...made: AnswerPart[]): void {
    if (parts.length + made.length > bounds.answerParts) throw new LimitExceeded('its answer', bounds.answerParts, 'parts');
    parts.push(...made);
  }

  function part(given: unknown): boolean {
    events++;
    if (events > bounds.streamEvents) throw new LimitExceeded('its stream', bounds.streamEvents, 'events');
    if (!isObject(given)) return false;
    switch (given.type) {
      case 'stream-start':
        if (heedWarnings(given.warnings, request).schemaLeftOut) onSchemaLeftOut();
        return false;
      case 'error':
        throw troubleOf(given.error, 'answering');
      case 'tool-approval-request':
        throw new Trouble({
          kind: 'bad-request',
          words: "it requests approval for a call of its own tool, which the engine can't give; allow calls of the tool without approval",
        });
      case 'file':
        push(...filePart(given, provider, count));
        return true;
      case 'reasoning-file':
      case 'custom':
        push(...unreadablePart(given, provider, count));
        return true;
      case 'source':
        push(sourcePart(given, count));
        return true;
      case 'finish':
        finish = given;
        return true;
      // Raw chunks, response metadata, and parts of later versions are ignored.
      default:
        return blocks.take(given) || calls.take(given);
    }
  }

  function answer(): ModelAnswer {
    blocks.closeAll();
    if (!finish) throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without a finish' });
    const finishReason = toFinishReason(finish.finishReason);
    if (needsFinishReason && isWithoutReason(finish.finishReason)) {
      throw new Trouble({ kind: 'truncated-stream', words: 'the stream ended without a finish reason' });
    }
    const isSilent = parts.every((part) => part.type === 'reasoning' || ('text' in part && part.text === ''));
    // An empty answer is valid if it was cut off by a limit or a filter, or interrupted; a retry would have the same result.
    if (isSilent && !['length', 'content_filter', 'pause'].includes(finishReason)) throw new Trouble({ kind: 'empty' });
    return { parts, finishReason, usage: toUsage(finish.usage) };
  }

  return { part, isFinished: () => finish !== undefined, answer };
}

/** Converts the result of `doGenerate` to the parts of a stream. */
export function* partsOfResult(result: Record<string, unknown>): Generator<Record<string, unknown>> {
  yield { type: 'stream-start', warnings: result.warnings };
  for (const [id, content] of (Array.isArray(result.content) ? result.content : []).entries()) {
    if (!isObject(content)) continue;
    if (content.type !== 'text' && content.type !== 'reasoning') {
      yield content;
      continue;
    }
    yield { type: `${content.type}-delta`, id, delta: content.text, providerMetadata: content.providerMetadata };
    yield { type: `${content.type}-end`, id };
  }
  yield { type: 'finish', finishReason: result.finishReason, usage: result.usage };
}
