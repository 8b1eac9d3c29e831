import { createHash } from 'node:crypto';

const longestName = 64;
/** Not possible at the end of a server's name, nor within it: the names of two servers' tools are never the same. */
const separator = '__';

/**
 * The name under which models call a tool: `server__tool`. A name that providers don't accept is made acceptable, and ends with a hash of the
 * original, so that it depends on nothing but the original.
 */
export function toolName(server: string, original: string): string {
  const name = `${server}${separator}${original}`;
  if (/^[a-zA-Z0-9_-]+$/.test(name) && name.length <= longestName) return name;
  const hash = createHash('sha256').update(original).digest('hex').slice(0, 8);
  const clean = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, longestName - hash.length - 1);
  return `${clean}_${hash}`;
}

/** Whether a name can be one of this server's. */
export function isOfServer(server: string, name: string): boolean {
  return name.startsWith(`${server}${separator}`);
}
