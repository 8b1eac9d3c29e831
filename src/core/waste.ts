import { type AnswerPart, addUsage, type Message, textOf, type Usage } from './message';

/** The cost of attempts at a model call that produced no answer: they were aborted, interrupted, or lost with their worker. */
export interface Waste {
  usage: Usage;
  /** US dollars, if the model's price is known. */
  costUsd?: number;
  /** At least a part was not reported by the provider and is estimated: one token per four characters of input and output. */
  estimated?: true;
}

export function addWaste(a: Waste | undefined, b: Waste | undefined): Waste | undefined {
  if (!a || !b) return a ?? b;
  const costUsd = a.costUsd === undefined && b.costUsd === undefined ? undefined : (a.costUsd ?? 0) + (b.costUsd ?? 0);
  return {
    usage: addUsage(a.usage, b.usage),
    ...(costUsd !== undefined && { costUsd }),
    ...((a.estimated || b.estimated) && { estimated: true }),
  };
}

export function tokensIn(characters: number): number {
  return Math.ceil(characters / 4);
}

/** Number of characters that the model reads. Images and files are not counted. */
export function charactersOf(messages: readonly Message[]): number {
  return messages.reduce(
    (sum, message) => sum + (message.role === 'assistant' ? inAnswer(message.content) : textOf(message.content).length),
    0,
  );
}

function inAnswer(parts: readonly AnswerPart[]): number {
  let sum = 0;
  for (const part of parts) {
    if ('text' in part) sum += part.text.length;
    if (part.type === 'tool-call') sum += part.name.length + part.arguments.length;
    if (part.type === 'hosted-tool') sum += JSON.stringify([part.input, part.output ?? '']).length;
  }
  return sum;
}
