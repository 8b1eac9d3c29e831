import { excerpt } from '../core/json';

/** What a provider's words may carry and nobody's log should: keys (also half-masked ones) and the ids of accounts and requests. */
const secrets: [RegExp, string][] = [
  [/\bBearer\s+[^\s"',]+/gi, 'Bearer [key]'],
  [/\b(?:sk|pk|gsk|xai|hf|nvapi|sess)[-_][\w*.…-]{6,}/gi, '[key]'],
  [/\bAIza[\w-]{10,}/g, '[key]'],
  [/(api[ _-]?key provided:?\s+)(?!\[key\])\S+/gi, '$1[key]'],
  [/\borg-\w{6,}/g, '[organization]'],
  [/\bproj_\w{6,}/g, '[project]'],
  [/\buser-\w{8,}/g, '[user]'],
  [/\breq_\w{6,}/g, '[request]'],
  [/(request[ _-]?id:?\s*)['"]?(?=[\w-]*\d)[\w-]{6,}['"]?/gi, '$1[request]'],
];

/** The words of a provider, safe to show: on one line, without secrets, a page of HTML by its title, at most `max` characters. */
export function safeWords(words: string, key: string | undefined, max: number): string {
  let text = /^\s*</.test(words) ? pageTitle(words) : words;
  // A placeholder as short as `none` is no secret, and would blot out half the message.
  if (key && key.length >= 8) text = text.replaceAll(key, '[key]');
  for (const [pattern, replacement] of secrets) text = text.replace(pattern, replacement);
  return excerpt(text.replace(/\s+/g, ' ').trim(), max);
}

function pageTitle(html: string): string {
  const title = /<title[^>]*>([^<]*)</i.exec(html)?.[1]?.trim();
  return title ? `a web page titled "${title}"` : 'a web page';
}
