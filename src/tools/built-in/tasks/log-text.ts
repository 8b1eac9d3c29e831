import { type FileHandle, open } from 'node:fs/promises';
import { headAndTail, sizeLeftOut } from '../../running/output-cap';

/**
 * The output in a log from a byte on: its head and its tail, if it is longer than `maxBytes`. Only these are read, because one answer of a model
 * can ask for it a hundred times. The rest is there to be read on, so it is not stored again.
 */
export async function logText(file: string, from: number, maxBytes: number): Promise<string> {
  const log = await open(file);
  try {
    const total = Math.max(0, (await log.stat()).size - from);
    if (total <= maxBytes) return (await bytesAt(log, from, total)).toString('utf8').trimEnd();
    const half = Math.floor(maxBytes / 2);
    const [head, tail] = [await bytesAt(log, from, half), await bytesAt(log, from + total - half, half)];
    return headAndTail(head, tail, total, (bytes, at) => `[... ${sizeLeftOut(bytes)}; from: ${from + at} shows more ...]`).trimEnd();
  } finally {
    await log.close();
  }
}

async function bytesAt(log: FileHandle, position: number, length: number): Promise<Buffer> {
  // Node refuses to read into an empty buffer.
  if (length === 0) return Buffer.alloc(0);
  const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(length), position });
  return buffer.subarray(0, bytesRead);
}
