import { addUsage, type Message, textOf, type Usage } from './message';

/** What attempts at a model call cost that came to nothing: they were aborted, broke off, or were lost with their worker. */
export interface Waste {
  usage: Usage;
  /** Where the model's price is known. */
  costUsd?: number;
  /** At least a part of it was never told by the provider: input and output are then a quarter of their characters. */
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

/** Of what the model reads; images are not counted. */
export function charactersOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => {
    const calls = message.role === 'assistant' ? message.toolCalls : [];
    return sum + textOf(message.content).length + calls.reduce((n, { name, arguments: args }) => n + name.length + args.length, 0);
  }, 0);
}
