import { z } from 'zod';
import { bounds } from '../../core/bounds';
import { excerpt } from '../../core/json';
import { findTool } from '../../core/loaded-tools';
import type { ToolSpec } from '../../core/tool';
import { defineTool, type Tool } from '../defining/define-tool';
import { type FoundTools, foundTools } from './found-tools';
import { indexTools, type ToolIndex } from './rank-tools';

const input = z.object({
  query: z.string().min(1).max(500).describe('Words for what the tool does, or names of tools.'),
  tag: z.string().max(200).optional().describe('Only tools with this tag.'),
});

/** Further tools that match, of which only the names are shown. */
const mostNames = 20;

/** Creates the tool with which the model finds tools that it was not sent. `missing`: why tools may be missing, which it says if nothing matches. */
export function createFindTools(hidden: readonly Tool[], missing?: string): Tool {
  let index: Promise<ToolIndex> | undefined;
  return defineTool({
    name: findTool,
    description: descriptionOf(hidden),
    input,
    effect: 'pure',
    async execute({ query, tag }) {
      index ??= indexTools(hidden);
      const ranked = (await index).rank(query);
      const matching = tag === undefined ? ranked : ranked.filter((tool) => hasTag(tool, tag));
      return matching.length > 0 ? found(matching) : [nothingFound(hidden, tag), missing].filter(Boolean).join(' ');
    },
  });
}

function found(matching: readonly Tool[]): FoundTools {
  const loaded = new Map<Tool, number>();
  let room: number = bounds.foundToolsChars;
  for (const tool of matching.slice(0, bounds.foundTools)) {
    const { length } = JSON.stringify(specOf(tool));
    if (loaded.size > 0 && length > room) continue;
    loaded.set(tool, length);
    room -= length;
  }
  const rest = matching.filter((tool) => !loaded.has(tool));
  const text = [
    'Found and loaded, best match first. From your next answer on, you have them in your list of tools:',
    ...[...loaded.keys()].map(lineOf),
    ...(rest.length > 0 ? [`Not loaded, but they match too: ${namesOf(rest)}. To load one, search for its name.`] : []),
  ].join('\n');
  return foundTools(
    text,
    [...loaded].map(([{ name }, chars]) => ({ name, chars })),
  );
}

function nothingFound(hidden: readonly Tool[], tag: string | undefined): string {
  const tagged = tag === undefined ? [] : hidden.filter((tool) => hasTag(tool, tag));
  if (tagged.length > 0) return `No tool with this tag matches. These tools have it: ${namesOf(tagged)}. To load one, search for its name.`;
  return `No tool matches. ${tagsOf(hidden)}Try other words, such as what is changed or looked up.`;
}

function descriptionOf(hidden: readonly Tool[]): string {
  const count = hidden.length === 1 ? 'is one more tool' : `are ${hidden.length} more tools`;
  return [
    `There ${count} that you don't see. This finds them by words, and adds the best matches to your list of tools for your next answer.`,
    `${tagsOf(hidden)}Use it before you say that you can't do something.`,
  ].join(' ');
}

const mostTags = 60;
const mostTagChars = 2_000;

function tagsOf(tools: readonly Tool[]): string {
  const counts = new Map<string, number>();
  for (const { tags = [] } of tools) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  if (counts.size === 0) return '';
  const words = [...counts].slice(0, mostTags).map(([tag, count]) => `${tag} (${count})`);
  const more = counts.size > mostTags ? `, and ${counts.size - mostTags} more` : '';
  return `Their tags: ${excerpt(words.join(', '), mostTagChars)}${more}. `;
}

function lineOf({ name, tags = [], description }: Tool): string {
  const about = tags.length > 0 ? ` [${excerpt(tags.join(', '), 100)}]` : '';
  return `- ${name}${about}: ${excerpt(description.replace(/\s+/g, ' '), 200)}`;
}

function namesOf(tools: readonly Tool[]): string {
  const names = tools.slice(0, mostNames).map(({ name }) => name);
  return tools.length > mostNames ? `${names.join(', ')}, and ${tools.length - mostNames} more` : names.join(', ');
}

function hasTag({ tags = [] }: Tool, tag: string): boolean {
  return tags.some((one) => one.toLowerCase() === tag.trim().toLowerCase());
}

function specOf({ name, description, parameters }: Tool): ToolSpec {
  return { name, description, parameters };
}
