import { sinceCompaction } from '../core/context/provider-compaction';
import { excerpt } from '../core/json';
import type { AnswerPart, AssistantMessage, Message } from '../core/message';
import type { Models } from './registry';

/** The model that is called. */
export interface Asked {
  provider: string;
  family: string;
  /** Whether reasoning of other models is sent to it as text. */
  tellOtherReasoning: boolean;
  /** Whether the provider compacts conversations of this model, and so accepts compactions of the same family. */
  readsCompactions?: boolean;
}

/** Maximum length of a hosted tool's output as sent to another model. */
const toldOutputChars = 8_000;

/** Messages as rewritten for models of other families. Cached by message, so that the result is the same object in each turn. */
const adapted = new WeakMap<AssistantMessage, { told?: Message; untold?: Message }>();

/**
 * Returns the transcript for one model. Opaque data goes back only to the provider and family that created it, because signatures and
 * encrypted reasoning of another one make a request invalid. For other models, hosted tools become text, and reasoning is dropped or becomes
 * text. Of a conversation that its provider compacted, the model gets only what follows if it reads the compaction.
 */
export function forModel(messages: readonly Message[], asked: Asked, models: Models): Message[] {
  const families = new Map<string, boolean>();
  const isOwn = (name = '') => {
    const known = families.get(name) ?? isSameFamily(name, asked, models);
    families.set(name, known);
    return known;
  };
  const seen = sinceCompaction(messages, ({ model }) => asked.readsCompactions === true && isOwn(model));
  return seen.map((message) => {
    if (message.role !== 'assistant' || !message.content.some(isForeignable) || isOwn(message.model)) return message;
    const kept = adapted.get(message) ?? {};
    adapted.set(message, kept);
    if (asked.tellOtherReasoning) return (kept.told ??= foreign(message, true));
    return (kept.untold ??= foreign(message, false));
  });
}

function isForeignable({ type, opaque }: AnswerPart): boolean {
  return opaque !== undefined || type === 'reasoning' || type === 'hosted-tool' || type === 'source';
}

function isSameFamily(name: string, asked: Asked, models: Models): boolean {
  try {
    const { providerName, family } = models.resolve(name);
    return providerName === asked.provider && family === asked.family;
  } catch {
    // The provider is no longer registered.
    return false;
  }
}

function foreign(message: AssistantMessage, tell: boolean): AssistantMessage {
  return { ...message, content: message.content.flatMap((part) => foreignPart(part, tell)) };
}

function foreignPart({ opaque: _, ...part }: AnswerPart, tell: boolean): AnswerPart[] {
  switch (part.type) {
    case 'reasoning':
      return tell && part.text.trim() !== '' ? [{ type: 'text', text: `<reasoning>\n${part.text}\n</reasoning>\n` }] : [];
    case 'hosted-tool': {
      const output = part.output === undefined ? '' : `\n${excerpt(JSON.stringify(part.output), toldOutputChars)}`;
      return [{ type: 'text', text: `<tool name="${part.name}" input=${JSON.stringify(part.input)}>${output}\n</tool>\n` }];
    }
    case 'source':
    case 'compaction':
      return [];
    default:
      return [part];
  }
}
