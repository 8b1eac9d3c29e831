import type { ContextView } from '../../core/context/view';
import { type Part, paint, Styled, styled } from '../views/styled';
import { print, printJson } from '../views/terminal';
import { count } from '../views/words';
import { withClient } from './connect';

/** Prints how full a thread's context window is, with what, and what would be shortened next. */
export async function context(threadId: string, { json }: { json?: boolean }): Promise<void> {
  const view = await withClient({}, (client) => client.attach(threadId).context());
  if (json) return printJson(view);
  print(styled`${Styled.join(linesOf(view), styled`\n`)}\n`);
}

export function linesOf({ usedTokens, windowTokens, reserveTokens, leftPercent, compactAtTokens, parts, next }: ContextView): Part[] {
  const row = (name: string, value: Part) => styled`${paint.dim(Styled.line(name).padEnd(14))} ${value}`;
  const size = (tokens: number) => tokens.toLocaleString('en-US');
  const known = windowTokens !== null;
  return [
    row(
      'used',
      `${size(usedTokens)} tokens${known ? ` of ${size(windowTokens)} (${leftPercent} % left)` : ", of a window that isn't known"}`,
    ),
    ...(reserveTokens === null ? [] : [row('for the answer', size(reserveTokens))]),
    row('shortened', compactAtTokens === null ? 'on request, or if the provider rejects it as too long' : `above ${size(compactAtTokens)}`),
    ...Object.entries(parts).map(([name, tokens]) => row(name, size(tokens))),
    row('next', next === null ? 'nothing that would be worth it' : `${wordsOf(next)}, about ${size(next.tokens)} tokens`),
  ];
}

function wordsOf({ kind, count: n }: NonNullable<ContextView['next']>): string {
  return kind === 'outputs' ? `${count(n, 'old output')} cleared` : `${count(n, 'message')} replaced by a summary`;
}
