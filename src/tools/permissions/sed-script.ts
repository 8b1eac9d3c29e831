/**
 * Characters allowed after a backslash: not the letters with which a sed reads a character from a code or a name (`\cX`, `\d91`, `\x5b`), and
 * no unknown ones.
 */
const escaped = String.raw`\\(?:[^A-Za-z\n]|[nstwbSWBLUElu])`;

/**
 * Implementations differ on whether a delimiter inside brackets ends the expression. So brackets may contain neither a delimiter nor anything
 * that makes their end uncertain. The same rule applies to the replacement, where brackets have no meaning.
 */
const brackets = (end: string) => String.raw`\[\^?(?!\^)(?:\[:[a-z]+:\]|(?!${end})[^\][\\\n])+\]`;

const textUntil = (end: string) => String.raw`(?:(?!${end})[^\\[\n]|${escaped}|${brackets(end)})*${end}`;

/** Print, delete, quit, line number and substitute; not the commands `e`, `w` and `r`, nor the flags that do the same. */
const firstCommand = (() => {
  const address = String.raw`(?:\d+|\$|/${textUntil('/')})`;
  const substitute = String.raw`s([/|#,])${textUntil('\\1')}${textUntil('\\1')}[gpiI\d]*`;
  return new RegExp(String.raw`^[ \t]*(?:(?:${address}(?:,${address})?)?[ \t]*(?:[pdq=]|${substitute}))?[ \t]*(?:;|$)`);
})();

/** Whether a `sed` script only edits its input. A script outside the grammar above, such as with `{`, `y` or a line break, does not qualify. */
export function isPlainSedScript(script: string): boolean {
  let left = script;
  do {
    const found = firstCommand.exec(left)?.[0];
    if (found === undefined) return false;
    left = left.slice(found.length);
  } while (left !== '');
  return true;
}
