import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EncodingOptions } from '../src/encoding/encoding';
import { keysFromFile } from '../src/encoding/key-provider';

const keysFile = (folder: string) => join(folder, 'keys');

/** Adds a key, with which every process encrypts from then on. Processes read the file again by themselves. */
export function addKey(folder: string): void {
  const file = keysFile(folder);
  const earlier = existsSync(file) ? readFileSync(file, 'utf8') : '';
  writeFileSync(`${file}.new`, `${randomBytes(32).toString('base64')}\n${earlier}`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** How the processes of a storm write payloads: encrypted and compressed if the storm has keys. */
export function encodingIn(folder: string): EncodingOptions {
  return existsSync(keysFile(folder)) ? { keys: keysFromFile(keysFile(folder)) } : {};
}

/** The keys as the checker reads them. */
export function keysIn(folder: string): Buffer[] {
  if (!existsSync(keysFile(folder))) return [];
  const lines = readFileSync(keysFile(folder), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'));
}
