/** The `url` of an image or a file that is in the artifact store: `artifact:image/png,` and its id. Model calls replace it by the content. */
export function artifactUrl(mediaType: string, id: string): string {
  return `artifact:${/^[\w.+-]+\/[\w.+-]+$/.test(mediaType) ? mediaType : 'application/octet-stream'},${id}`;
}

export function parseArtifactUrl(url: string): { mediaType: string; id: string } | undefined {
  const [, mediaType, id] = /^artifact:([\w.+-]{1,100}\/[\w.+-]{1,100}),([0-9a-f]{32})$/.exec(url) ?? [];
  return mediaType !== undefined && id !== undefined ? { mediaType, id } : undefined;
}
