import { isObject } from '../../core/json';
import type { Tool } from '../defining/define-tool';

/** What tools are found by, each with its weight: a word in a name says more than one in a description. */
const weights = { name: 5, tag: 3, description: 1, parameter: 1 } as const;

/** How often a tool has each word, by weight. */
export type WeightedWords = ReadonlyMap<string, number>;

/** By tool, because an agent's tools may change at every turn while most of them stay. */
const known = new WeakMap<Tool, WeightedWords>();

/** Returns the words that a tool is found by. */
export function wordsOfTool(tool: Tool): WeightedWords {
  const before = known.get(tool);
  if (before) return before;
  const words = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const word of wordsOf(text)) words.set(word, (words.get(word) ?? 0) + weight);
  };
  add(tool.name, weights.name);
  for (const tag of tool.tags ?? []) add(tag, weights.tag);
  add(tool.description.slice(0, maxDescriptionChars), weights.description);
  for (const name of parameterNames(tool.parameters)) add(name, weights.parameter);
  known.set(tool, words);
  return words;
}

const maxDescriptionChars = 4_000;

/** Divides a text into words without endings: `listOpenIssues` has `list`, `open` and `issu`. Scripts without blanks give pairs of characters. */
export function wordsOf(text: string): string[] {
  return text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{L})(\p{N})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .flatMap((word) => (withoutBlanks.test(word) ? pairs(word) : [stem(word)]));
}

const withoutBlanks = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

function pairs(word: string): string[] {
  const characters = [...word];
  return characters.length < 2 ? characters : characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

/** Removes common English endings, so that `deleted`, `deletes` and `deleting` are the same word. What is left need not be a word. */
function stem(word: string): string {
  const singular = word.length > 3 ? word.replace(/ies$/, 'y').replace(/(?<![sui])s$/, '') : word;
  const plain = singular.length > 5 ? singular.replace(/(?:ing|ed)$/, '') : singular;
  return plain.length > 4 ? plain.replace(/e$/, '') : plain;
}

const maxNames = 300;
const maxDepth = 8;

/** The names of properties in a schema, also of nested ones. */
function parameterNames(schema: unknown): Set<string> {
  const names = new Set<string>();
  const visit = (value: unknown, depth: number) => {
    if (depth > maxDepth || names.size >= maxNames) return;
    if (Array.isArray(value)) for (const item of value) visit(item, depth + 1);
    if (!isObject(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'properties' && isObject(inner)) for (const name of Object.keys(inner)) names.add(name);
      visit(inner, depth + 1);
    }
  };
  visit(schema, 0);
  return names;
}
