import { createHash } from 'node:crypto';
import { editingTools, readingTools, speakingTools } from '../permissions/harmless-commands';

/** Permissions decide about these tools by their names, so no operation of a document gets one of them. */
const builtInTools = [...readingTools, ...speakingTools, ...editingTools, 'shell'];

const maxLength = 64;
const hashLength = 8;

/** Gives names to tools: each is valid for every provider and used once. The same document always gives the same names. */
export class ToolNames {
  readonly #taken = new Set<string>(builtInTools);

  constructor(private readonly prefix: string) {}

  /** `place` distinguishes operations whose ids are the same or become the same, such as `GET /pets`. */
  nameOf(id: string, place: string): string {
    const plain = `${this.prefix}${id}`.replace(/[^a-zA-Z0-9_-]/g, '_') || 'unnamed';
    const isFree = plain.length <= maxLength && !this.#taken.has(plain);
    let name = isFree ? plain : withHash(plain, place);
    for (let n = 2; this.#taken.has(name); n++) name = withHash(plain, `${place} ${n}`);
    this.#taken.add(name);
    return name;
  }
}

function withHash(name: string, place: string): string {
  const hash = createHash('sha256').update(place).digest('hex').slice(0, hashLength);
  return `${name.slice(0, maxLength - hashLength - 1)}_${hash}`;
}
