import { excerpt } from '../../core/json';

/**
 * Patterns to remove from a provider's messages, because they must not reach a log: keys (also half-masked ones) and ids of accounts and
 * requests. Whitespace is already collapsed. No pattern may scan the rest of the text from each position: that would be quadratic.
 */
const patterns: [RegExp, string | ((match: string, ...groups: string[]) => string)][] = [
  [/\bBearer\s[^\s"',]+/gi, 'Bearer [key]'],
  [/\b(?:sk|pk|gsk|xai|hf|nvapi|sess)[-_][\w*.…-]{6,}/gi, '[key]'],
  [/\bAIza[\w-]{10,}/g, '[key]'],
  [/(api[ _-]?key provided:?\s)(?!\[key\])\S+/gi, '$1[key]'],
  [/\borg-\w{6,}/g, '[organization]'],
  [/\bproj_\w{6,}/g, '[project]'],
  [/\buser-\w{8,}/g, '[user]'],
  [/\breq_\w{6,}/g, '[request]'],
  [/(request[ _-]?id:?\s?)['"]?([\w-]{6,})['"]?/gi, (match, before, id) => (/\d/.test(id ?? '') ? `${before}[request]` : match)],
];

/** How much of a long message is examined; a few hundred characters are shown at most. */
const longestLook = 16_000;
/** How much of a message is kept before that: more than is examined, so that a cut message is recognized as cut. */
export const longestWords = 20_000;

/**
 * Makes a provider's message safe to show: one line, without secrets, an HTML page by its title, at most `max` characters. Messages are cut
 * only here: the rest of a key that was cut earlier could not be recognized.
 */
export function safeWords(words: string, secrets: readonly string[], max: number): string {
  const seen = wholeWords(words);
  let text = /^\s*</.test(seen) ? pageTitle(seen) : seen;
  text = text.replace(/\s+/g, ' ').trim();
  for (const secret of formsOf(secrets)) text = text.replaceAll(secret, '[key]');
  for (const [pattern, replacement] of patterns) text = text.replace(pattern, replacement as string);
  return excerpt(text, max);
}

/** Secrets as they appear on one line, also within JSON; the longest first, because one may be the beginning of another. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets.map((secret) => secret.replace(/\s+/g, ' ').trim()).flatMap((line) => [line, JSON.stringify(line).slice(1, -1)]);
  // A placeholder as short as `none` is no secret, and removing it would destroy the message.
  return [...new Set(forms)].filter((form) => form.length >= 8).sort((a, b) => b.length - a.length);
}

/** The beginning of a long text, up to a space: a word that was cut could be half of a key, which no pattern would recognize. */
function wholeWords(words: string): string {
  if (words.length <= longestLook) return words;
  return `${words.slice(0, Math.max(0, words.lastIndexOf(' ', longestLook)))} …`;
}

function pageTitle(html: string): string {
  const start = html.toLowerCase().indexOf('<title');
  const open = start === -1 ? -1 : html.indexOf('>', start);
  const end = open === -1 ? -1 : html.indexOf('<', open);
  const title = end === -1 ? '' : html.slice(open + 1, end).trim();
  return title ? `a web page titled "${title}"` : 'a web page';
}
