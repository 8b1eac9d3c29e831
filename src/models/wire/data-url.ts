/** The data of a data URL as base64, and its media type, which may be empty. `undefined` for any other URL. */
export function dataOf(url: string): { mediaType: string; data: string } | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  const head = comma === -1 ? '' : url.slice(5, comma);
  const body = comma === -1 ? '' : url.slice(comma + 1);
  const isBase64 = /;\s*base64\s*$/i.test(head);
  return { mediaType: head.split(';', 1)[0]?.trim() ?? '', data: isBase64 ? body : Buffer.from(decoded(body)).toString('base64') };
}

/** Text that is not percent-encoded is used as is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
