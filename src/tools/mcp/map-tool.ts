import { setImmediate as otherWork } from 'node:timers/promises';
import type { Tool as McpTool } from '@modelcontextprotocol/client';
import { bounds } from '../../core/bounds';
import { isObject, type JsonObject } from '../../core/json';
import { printable } from '../../core/printable';
import { isDeeperThan, shortText } from '../../core/text';
import type { PlainEffect } from '../../core/tool';
import { checkedApproval } from '../defining/approval';
import type { Tool } from '../defining/define-tool';
import { type KnownPatterns, withoutUnknownPatterns } from '../defining/foreign-patterns';
import { mustLookLikeSchema } from '../defining/schema-check';
import { foreignInput } from '../defining/tool-input';
import type { SecretMask } from '../running/secret-mask';
import { type McpServer, questionPolicy } from './options';
import { toolName } from './tool-name';

/** What the engine makes of a server's list. */
export interface MappedTools {
  tools: Tool[];
  /** Tools that can't be offered, with the reasons. */
  leftOut: string[];
  /** Tools with patterns that are not checked here, with the patterns. */
  unchecked: string[];
}

/** Makes tools of a server's list. The author of the list is not trusted: its texts are bounded, its schemas are only compiled in the bounded thread. */
export async function mapTools(
  server: string,
  options: McpServer,
  listed: readonly McpTool[],
  executeOf: (tool: McpTool) => Tool['execute'],
  secret: SecretMask,
): Promise<MappedTools> {
  const byName = new Map<string, Tool>();
  const leftOut: string[] = [];
  const unchecked: string[] = [];
  let room: number = bounds.mcpToolsChars;
  for (const tool of listed) {
    // Cleaning one tool's texts may take a tenth of a second.
    await otherWork();
    try {
      if (tool.name.length > bounds.nameChars) throw new Error(`its name has more than ${bounds.nameChars} characters`);
      if (repeatsSecret(tool, secret)) throw new Error('it repeats a credential');
      const name = toolName(server, tool.name);
      if (byName.has(name)) throw new Error('another one has the same name');
      const { schema, unknown } = cleanSchema(tool.inputSchema, refuseSchema);
      const mapped = mapTool(name, { server, options }, { ...tool, schema }, executeOf(tool));
      const chars = mapped.description.length + JSON.stringify(mapped.parameters).length;
      if (chars > room) throw new Error(`the tools of the server have more than ${bounds.mcpToolsChars} characters`);
      room -= chars;
      byName.set(name, mapped);
      if (unknown.length > 0) unchecked.push(`'${shown(tool.name, 100)}': ${shown(unknown.join(', '), 300)}`);
    } catch (error) {
      leftOut.push(`'${shown(tool.name, 100)}': ${shown(String((error as Error).message), 300)}`);
    }
  }
  return { tools: [...byName.values()], leftOut, unchecked };
}

const refuseSchema = (problem: string) => new Error(`its schema ${problem}`);

function mapTool(
  name: string,
  { server, options }: { server: string; options: McpServer },
  tool: Omit<McpTool, 'inputSchema'> & { schema: JsonObject },
  execute: Tool['execute'],
): Tool {
  const rules = options.rules?.[tool.name] ?? {};
  const approval = checkedApproval(rules.approval ?? options.approval ?? 'never', refuseSchema);
  const timeoutMs = rules.timeoutMs ?? options.timeoutMs;
  const effect = rules.effect ?? effectOf(tool);
  const questions = questionPolicy(options);
  return Object.freeze({
    name,
    description: descriptionOf(server, tool),
    ...foreignInput(tool.schema, refuseSchema),
    tags: Object.freeze([server]),
    effect,
    ...(approval && { approval }),
    ...(questions && { questions }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    // After a lost connection. Answers of the server, also its errors, are not repeated.
    ...(effect !== 'once' && { retry: { maxAttempts: 3, initialMs: 500 } }),
    ...(execute && { execute }),
  });
}

function repeatsSecret(tool: McpTool, secret: SecretMask): boolean {
  const json = JSON.stringify(tool);
  return secret.text(json) !== json;
}

/** The server's annotations are only its word: they decide what a crash may repeat, never whether a person is asked. */
function effectOf({ annotations }: Pick<McpTool, 'annotations'>): PlainEffect {
  if (annotations?.readOnlyHint === true) return 'pure';
  return annotations?.idempotentHint === true ? 'keyed' : 'once';
}

/** Says where the words come from, because they are not those of the agent's author. */
function descriptionOf(server: string, { name, title, description }: Pick<McpTool, 'name' | 'title' | 'description'>): string {
  const words = shown(description ?? title ?? name, bounds.mcpDescriptionChars).trim();
  return `[MCP server '${server}'] ${words}`;
}

/** Words for the model: without characters that a person who reads them would not see. */
function shown(text: string, max: number): string {
  return shortText(printable(shortText(text, max)), max);
}

function cleanSchema(schema: object, refuse: (problem: string) => Error): KnownPatterns {
  if (isDeeperThan(schema, bounds.jsonDepth)) throw refuse(`is nested deeper than ${bounds.jsonDepth} levels`);
  checkChars(schema, refuse);
  const clean = withoutUnknownPatterns(cleaned(schema) as JsonObject);
  // Hidden characters are longer when they are shown.
  checkChars(clean.schema, refuse);
  try {
    // A provider refuses a whole request for one invalid schema.
    mustLookLikeSchema(clean.schema);
  } catch (error) {
    throw refuse(`is not valid: ${(error as Error).message}`);
  }
  return clean;
}

function checkChars(schema: object, refuse: (problem: string) => Error): void {
  const chars = JSON.stringify(schema).length;
  if (chars > bounds.mcpSchemaChars) throw refuse(`has ${chars} characters; at most ${bounds.mcpSchemaChars} are sent to models`);
}

/** Keywords whose values are words for people, and those whose values are data, which must stay as they are. */
const words = ['title', 'description', '$comment'];
const data = ['enum', 'const', 'default', 'examples', 'example', 'pattern', 'required'];

function cleaned(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(cleaned);
  if (!isObject(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (words.includes(key) && typeof value === 'string') return [key, shown(value, bounds.mcpDescriptionChars)];
      return [key, data.includes(key) ? value : cleaned(value)];
    }),
  );
}
