import type { ContextMeasure } from '../../core/context/budget';
import { transcriptText } from '../../core/context/summary';
import { defaultCharsPerToken, fixedTokensOf } from '../../core/context/tokens';
import { type AnswerPart, compactionIn, type Message, noUsage } from '../../core/message';
import { charactersOf } from '../../core/waste';
import type { ModelAnswer } from '../../models/model';

/** What one request contains. */
export interface Sent {
  instructions: string;
  /** The tools, as JSON. */
  tools: string;
  messages: readonly Message[];
}

/** Characters below which the provider's own additions (formats, hidden instructions) would dominate the ratio. */
const leastChars = 2_000;
/** Ratios outside of these are not tokenizers but providers that count something else. */
const [leastRatio, mostRatio] = [0.5, 8];

/** Measures how full the window was at a call: by the provider's own count, or else by an estimate. Not in workflow code: it may read every text. */
export function measureContext(
  model: string,
  sent: Sent,
  answer: ModelAnswer,
  window: { windowTokens?: number; reserveTokens?: number },
): ContextMeasure {
  const charsPerToken = ratioOf(model, sent, answer);
  const tokens = (chars: number) => Math.ceil(chars / charsPerToken);
  return {
    usedTokens: usedTokens(sent, answer, tokens),
    ...window,
    instructionTokens: tokens(sent.instructions.length),
    toolTokens: tokens(sent.tools.length),
    charsPerToken: Math.round(charsPerToken * 100) / 100,
  };
}

function usedTokens(sent: Sent, { parts, usage, usageAfterCompaction }: ModelAnswer, tokens: (chars: number) => number): number {
  const isCompacted = compactionIn(parts) !== undefined;
  // What a compaction replaced is in the counts of the call but not in the next request.
  const { inputTokens, outputTokens } = isCompacted ? (usageAfterCompaction ?? noUsage) : usage;
  const asked = isCompacted ? { ...sent, messages: [] } : sent;
  const input = inputTokens || tokens(charsIn(asked)) + fixedTokensOf(asked.messages);
  return (
    input + (outputTokens || tokens(charactersOf([{ id: '', role: 'assistant', content: parts, attempt: 1 }]) + opaqueCompaction(parts)))
  );
}

/** Characters of a compaction that only the provider can read. They stand for about as many characters of text. */
function opaqueCompaction(parts: readonly AnswerPart[]): number {
  const compaction = parts.findLast((part) => part.type === 'compaction' && part.text === '');
  return compaction?.opaque === undefined ? 0 : JSON.stringify(compaction.opaque).length;
}

function charsIn({ instructions, tools, messages }: Sent): number {
  return instructions.length + tools.length + charactersOf(messages);
}

/** Characters per token: of this request if the provider counted its tokens, otherwise estimated from its texts. */
function ratioOf(model: string, sent: Sent, { usage, parts }: ModelAnswer): number {
  const chars = charsIn(sent);
  // Providers don't count the input of a compaction like that of an answer.
  const counted = compactionIn(parts) ? 0 : usage.inputTokens - fixedTokensOf(sent.messages);
  if (chars >= leastChars && counted > 0) return Math.min(mostRatio, Math.max(leastRatio, chars / counted));
  const text = [sent.instructions, sent.tools, transcriptText(sent.messages)].join('\n');
  return text.length / countTokens(text, model);
}

/** Estimates the tokens of a text for a model's family of tokenizers: by its script, and in Latin script by the family's usual ratio. */
export function countTokens(text: string, model: string): number {
  let [latin, other, ideographs] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x250) latin += 1;
    else if (code < 0x2e80) other += 1;
    else ideographs += 1;
  }
  return Math.max(1, Math.ceil(latin / latinRatio(model) + other / 2 + ideographs));
}

/** Characters of English text and code per token. Claude's tokenizers have shorter tokens than those of other vendors. */
function latinRatio(model: string): number {
  return /claude/i.test(model) ? 3.5 : defaultCharsPerToken;
}
