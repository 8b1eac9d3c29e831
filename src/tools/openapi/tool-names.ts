import { createHash } from 'node:crypto';
import { toolsJudgedByName } from '../permissions/harmless-commands';

const maxLength = 64;
const hashLength = 8;

/** Gives names to tools: each is valid for every provider, used once, and none by which permissions would take it for a built-in tool. The same document always gives the same names. */
export class ToolNames {
  readonly #taken = new Set<string>(toolsJudgedByName);

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
