/** How much of a page may precede the element that names its encoding. */
const sniffedBytes = 1_024;

/** Decodes text by its byte order mark, its content type, or the `<meta>` of a page; by default as UTF-8. */
export function decodeText(bytes: Buffer, contentType: string): string {
  const charset = /charset\s*=\s*["']?([\w.:-]+)/i;
  const name = markOf(bytes) ?? charset.exec(contentType)?.[1] ?? charset.exec(bytes.toString('latin1', 0, sniffedBytes))?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(name).decode(bytes);
  } catch {
    // The name is unknown.
    return new TextDecoder().decode(bytes);
  }
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined;
}
