/** Reads a body up to a number of bytes, and then stops the transfer. */
export async function readBytes(
  { body }: { body: AsyncIterable<Uint8Array> | null },
  maxBytes: number,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  // Leaving the loop cancels the stream.
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > maxBytes) return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isCut: true };
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}
