import { setImmediate as otherWork } from 'node:timers/promises';
import type { Tool } from '../defining/define-tool';
import { type WeightedWords, wordsOf, wordsOfTool } from './words';

/** The parameters of BM25: how soon another occurrence of a word stops counting, and how much long texts are discounted. */
const saturation = 1.2;
const lengthDiscount = 0.5;

/** How long reading tools keeps the event loop. Schemas of operations are made when they are first read. */
const maxTurnMs = 20;

interface Indexed {
  tool: Tool;
  words: WeightedWords;
  length: number;
}

/** Finds tools by words. */
export interface ToolIndex {
  /** Returns the tools that have a word of the query, the best first; those with the same rank in their order. A tool's own name ranks highest. */
  rank(query: string): Tool[];
}

/** Creates an index with BM25 over names, tags, descriptions and names of parameters. */
export async function indexTools(tools: readonly Tool[]): Promise<ToolIndex> {
  const indexed: Indexed[] = [];
  let turn = performance.now();
  for (const tool of tools) {
    if (performance.now() - turn > maxTurnMs) {
      await otherWork();
      turn = performance.now();
    }
    const words = wordsOfTool(tool);
    indexed.push({ tool, words, length: sum(words.values()) });
  }
  const having = new Map<string, number>();
  for (const { words } of indexed) for (const word of words.keys()) having.set(word, (having.get(word) ?? 0) + 1);
  const usualLength = sum(indexed.map(({ length }) => length)) / Math.max(1, indexed.length);
  const rarity = (word: string) => {
    const n = having.get(word) ?? 0;
    return Math.log(1 + (indexed.length - n + 0.5) / (n + 0.5));
  };
  const scoreOf = ({ words, length }: Indexed, query: readonly string[]) =>
    sum(
      query.map((word) => {
        const count = words.get(word) ?? 0;
        const discount = 1 - lengthDiscount + (lengthDiscount * length) / usualLength;
        return (rarity(word) * count * (saturation + 1)) / (count + saturation * discount);
      }),
    );
  return {
    rank(query) {
      const words = [...new Set(wordsOf(query).flatMap((word) => (having.has(word) ? [word] : similar(word, having.keys()))))];
      const called = new Set(query.toLowerCase().split(/[\s,;"'`]+/));
      return indexed
        .map((one) => ({ tool: one.tool, score: scoreOf(one, words) + (called.has(one.tool.name.toLowerCase()) ? 1_000 : 0) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score)
        .map(({ tool }) => tool);
    },
  };
}

const leastPrefix = 3;
/** A short beginning may be that of thousands of words, which would then all be looked up in all tools. */
const mostSimilar = 50;

/** For a word that no tool has: those that begin with it, such as `repository` for `repo`, and those that it begins with. */
function similar(word: string, words: Iterable<string>): string[] {
  if (word.length < leastPrefix) return [];
  return [...words]
    .filter((other) => other.startsWith(word) || (other.length > leastPrefix && word.startsWith(other)))
    .slice(0, mostSimilar);
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
