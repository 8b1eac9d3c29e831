import type { Tool } from './define-tool';
import { isToolset, oddTools, type Toolset } from './toolset';

/** Tools that belong together, such as for an agent that does nothing else. */
export interface ToolGroup {
  /** Unique among the groups, and valid as the name of an agent. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tools: readonly Tool[];
  /** Why a group with too many tools was not split. */
  readonly unsplit?: string;
}

export interface GroupOptions {
  /**
   * `by-tag`: a group for each tag, and one for tools without a tag. A tool with several tags is in the group of each. `all-in-one`: one group.
   * Default: `by-tag` if a tool has a tag, otherwise `all-in-one`.
   */
  strategy?: 'by-tag' | 'all-in-one' | undefined;
  /** The order and the descriptions of tags, such as `tags` of `openApiTools`. Tags that no tool has are left out. */
  tags?: readonly { name: string; description?: string | undefined }[] | undefined;
  /** The name of the group of all tools. Default `all`. */
  name?: string | undefined;
}

/** Divides tools into groups. Groups have at least one tool, and every tool is in a group. Throws `TypeError` for invalid arguments. */
export function groupTools(source: readonly Tool[] | Toolset, options: GroupOptions = {}): ToolGroup[] {
  const tools = isToolset(source) ? source.list() : source;
  const odd = oddTools(tools);
  if (odd.length > 0) throw new TypeError(`groupTools: ${odd.join(' ')}`);
  const { tags = [], name = 'all', strategy = tools.some(isTagged) ? 'by-tag' : 'all-in-one' } = options;
  const ids = new GroupIds();
  switch (strategy) {
    case 'all-in-one':
      return tools.length === 0 ? [] : [group(ids, name, 'All tools.', tools)];
    case 'by-tag': {
      const described = new Map(tags.map((tag) => [tag.name, tag.description]));
      const names = new Set([...described.keys(), ...tools.flatMap((tool) => tool.tags ?? [])]);
      const tagged = [...names].map((tag) =>
        group(
          ids,
          tag,
          described.get(tag) || `Tools with the tag ${tag}.`,
          tools.filter((tool) => tool.tags?.includes(tag)),
        ),
      );
      const other = group(
        ids,
        'other',
        'Tools without a tag.',
        tools.filter((tool) => !isTagged(tool)),
      );
      return [...tagged, other].filter((one) => one.tools.length > 0);
    }
    default:
      throw new TypeError(`groupTools: strategy is ${JSON.stringify(strategy)}; use 'by-tag' or 'all-in-one'.`);
  }
}

function isTagged({ tags = [] }: Tool): boolean {
  return tags.length > 0;
}

function group(ids: GroupIds, name: string, description: string, tools: readonly Tool[]): ToolGroup {
  return Object.freeze({ id: tools.length > 0 ? ids.idOf(name) : '', name, description, tools: Object.freeze([...tools]) });
}

const maxIdChars = 64;

/** Gives ids to groups: names in which only letters, digits, `_` and `-` are left, with a number if the id exists. */
export class GroupIds {
  readonly #taken = new Set<string>();

  idOf(name: string): string {
    const plain = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, maxIdChars - 5) || 'group';
    let id = plain;
    for (let n = 2; this.#taken.has(id); n++) id = `${plain}_${n}`;
    this.#taken.add(id);
    return id;
  }
}
