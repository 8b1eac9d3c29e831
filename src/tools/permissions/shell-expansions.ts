/** The name of a variable after `$`. */
const name = /[A-Za-z_]\w*|[@*#?$!\d-]/y;
/** The beginning of `${x:-y}`, `${x[0]:-y}` and similar expansions, which may expand to `y`. */
const withDefault = /\{[!#]?[\w@*]+(?:\[[^\]]*\])?:?[-=+]/y;
/** A character that is not kept as it is. */
const special = /[\\`$]/g;
/** Nesting of defaults within defaults. */
const mostLevels = 10;

/** What `$` and backticks expand to: nothing, or a blank as in `git${IFS}push`, or `y` for `${x:-y}`. */
type Reading = 'nothing' | 'blank' | 'defaults';

/**
 * The command in each of these readings, which split or join its words (`pu$@sh`). Ignores quotes, because a shell may evaluate quoted text too.
 */
export function readingsOf(text: string): string[] {
  return (['nothing', 'blank', 'defaults'] as const).map((reading) => withoutExpansions(text, reading));
}

function withoutExpansions(text: string, reading: Reading, level = 0): string {
  let kept = '';
  for (let at = 0; at < text.length; at += 1) {
    special.lastIndex = at;
    const next = special.exec(text)?.index ?? text.length;
    kept += text.slice(at, next);
    at = next;
    const char = text[at] ?? '';
    if (char === '\\') {
      kept += char + (text[at + 1] ?? '');
      at += 1;
    } else if (char !== '') {
      const end = endOfExpansion(text, at);
      if (end === undefined) return kept + text.slice(at);
      withDefault.lastIndex = at + 1;
      if (reading === 'defaults' && level < mostLevels && withDefault.test(text)) {
        kept += withoutExpansions(text.slice(withDefault.lastIndex, end - 1), reading, level + 1);
      }
      if (end === at) kept += char;
      else {
        if (reading === 'blank') kept += ' ';
        at = end - 1;
      }
    }
  }
  return kept;
}

/** The end of the expansion; `at` if there is none, and `undefined` if it does not end. */
function endOfExpansion(text: string, at: number): number | undefined {
  if (text[at] === '`') return behind(text.indexOf('`', at + 1));
  const open = text[at + 1] ?? '';
  if (open === '(') return closing(text, at + 1, '(', ')');
  if (open === '{') return closing(text, at + 1, '{', '}');
  name.lastIndex = at + 1;
  return name.test(text) ? name.lastIndex : at;
}

function behind(at: number): number | undefined {
  return at === -1 ? undefined : at + 1;
}

function closing(text: string, from: number, open: string, close: string): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === open) depth += 1;
    else if (text[at] === close) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}
