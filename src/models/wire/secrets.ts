/** Values that no message may show: the key, and every header value, which may be a key. */
export function secretsOf({ apiKey = '', headers = {} }: { apiKey?: string; headers?: Record<string, string> }): string[] {
  const values = Object.values(headers).map(String);
  // `Bearer …`, `Basic …`: a provider may repeat only the credential.
  const credentials = values.flatMap((value) => /^\S+\s+(\S+)$/.exec(value.trim())?.[1] ?? []);
  return [apiKey, ...values, ...credentials];
}
