import { excerpt } from '../core/json';

/**
 * What a provider's words may carry and nobody's log should: keys (also half-masked ones) and the ids of accounts and requests.
 * Whitespace is one space by then. No pattern may look at the rest of the text from each of its places: that would be quadratic.
 */
const secrets: [RegExp, string | ((match: string, ...groups: string[]) => string)][] = [
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

/** What is looked at of long words; a few hundred characters are ever shown. */
const longestLook = 16_000;

/** The words of a provider, safe to show: on one line, without secrets, a page of HTML by its title, at most `max` characters. */
export function safeWords(words: string, key: string | undefined, max: number): string {
  const seen = wholeWords(words);
  let text = /^\s*</.test(seen) ? pageTitle(seen) : seen;
  text = text.replace(/\s+/g, ' ').trim();
  // A placeholder as short as `none` is no secret, and would blot out half the message.
  if (key && key.length >= 8) text = text.replaceAll(key, '[key]');
  for (const [pattern, replacement] of secrets) text = text.replace(pattern, replacement as string);
  return excerpt(text, max);
}

/** The beginning of a long text, up to a space: a word that was cut could be half of a key, which nothing would know for one. */
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
