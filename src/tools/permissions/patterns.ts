/** Whether a shell pattern may match a name. Brackets count as matching anything, so the answer may be a false positive. */
export function mayStandFor(pattern: string, name: string): boolean {
  // The lengths of the name's prefixes that the pattern read so far may match.
  const letters = [...name];
  let lengths = [0];
  const [from, to] = [pattern.indexOf('['), pattern.lastIndexOf(']')];
  const plainer = from === -1 || to < from ? pattern : `${pattern.slice(0, from)}*${pattern.slice(to + 1)}`;
  for (const char of plainer) {
    if (char === '*') lengths = Array.from({ length: letters.length - (lengths[0] ?? 0) + 1 }, (_, more) => (lengths[0] ?? 0) + more);
    else lengths = lengths.filter((at) => at < letters.length && (char === '?' || letters[at] === char)).map((at) => at + 1);
    if (lengths.length === 0) return false;
  }
  return lengths.includes(letters.length);
}

export function isPattern(word: string): boolean {
  return /[*?[]/.test(word);
}

/** The word with its extended globs (`@(a|b)`, `!(a)`) as `**`, as they may match anything. */
export function withoutGroups(word: string): string {
  const from = word.search(/[@+?!*]\(/);
  if (from === -1) return word;
  const to = word.lastIndexOf(')');
  return `${word.slice(0, from)}**${to > from ? word.slice(to + 1) : ''}`;
}
