import type { InTurn } from '../running/few-at-once';

interface Body {
  body: AsyncIterable<Uint8Array> | null;
}

export interface BytesRead {
  bytes: Buffer;
  isCut: boolean;
}

/** A body up to this size is read at any time, so that small answers don't wait for large ones. */
const smallBytes = 64 * 1_024;

/** Reads a body up to a number of bytes, and then stops the transfer. */
export function readBytes(from: Body, maxBytes: number): Promise<BytesRead> {
  return collect(from, maxBytes, () => undefined);
}

/**
 * Reads a body as `readBytes` does, and does something with the bytes. The rest of a body that is not small is read when it is its turn, which ends
 * with the work: a model can ask for a hundred pages at once, and each would otherwise be held as bytes and as text.
 */
export async function withBytes<T>(
  from: Body,
  { maxBytes, inTurn, of }: { maxBytes: number; inTurn: InTurn; of: string },
  work: (read: BytesRead) => Promise<T>,
): Promise<T> {
  let leave: (() => void) | undefined;
  try {
    const read = await collect(from, maxBytes, async (total) => {
      if (total > smallBytes) leave ??= await entered(inTurn, of);
    });
    return await work(read);
  } finally {
    leave?.();
  }
}

/** Waits for a turn. Returns the function that ends it. */
function entered(inTurn: InTurn, of: string): Promise<() => void> {
  return new Promise((begin) => {
    void inTurn(() => new Promise<void>((leave) => begin(leave)), of);
  });
}

async function collect({ body }: Body, maxBytes: number, onBytes: (total: number) => Promise<void> | undefined): Promise<BytesRead> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  // Leaving the loop cancels the stream.
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    total += chunk.length;
    await onBytes(total);
    if (total > maxBytes) return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: true };
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}
