import type { PendingCall } from '../core/event';
import { printableLine } from '../core/printable';
import { type Styled, styled } from './styled';

/**
 * A word as a shell takes it, whatever is in it: ids are often anybody's choice, and a hint is there to be copied. What would not be seen
 * in it is written as escapes, as bash and zsh read them.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (printableLine(text) === text) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[^!-~]|[\\']/gu, escaped)}'`;
}

function escaped(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`;
  return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
}

/** A command line with words of others, and what whoever copies it is to fill in; what begins with a dash is no option. */
export function commandLine(command: string, words: readonly string[], { fill = '', options = '' } = {}): Styled {
  const given = `${words.map(shellWord).join(' ')}${fill}`;
  const dash = words.some((word) => word.startsWith('-'));
  return dash ? styled`longhaul ${command}${options} -- ${given}` : styled`longhaul ${command} ${given}${options}`;
}

/** How whoever reads it answers what waits from a command line. */
export function answerHint(threadId: string): (call: PendingCall) => Styled {
  return ({ kind, toolCallId, users, groups, approvers = 1, digest, signed }) => {
    const call = [threadId, toolCallId];
    // Who it is for, and who must be told apart from others, has to say who they are.
    const name = signed || users || groups || approvers > 1 ? ' --by YOU' : '';
    // Where answers are signed, the workers know the groups.
    const who = `${name}${groups && !signed ? ` --group ${shellWord(groups[0] ?? '')}` : ''}`;
    const key = signed ? 'LONGHAUL_SIGNING_KEY=YOU.pem ' : '';
    switch (kind) {
      case 'approval': {
        // To what is shown beside it, and to nothing else.
        const expect = digest ? ` --expect ${shellWord(digest)}` : '';
        const refuse = commandLine('reject', call, { options: `${who} --reason "…"` });
        return styled`${key}${commandLine('approve', call, { options: `${expect}${who}` })}   (or: ${refuse})`;
      }
      case 'question':
        return styled`${key}${commandLine('answer', call, { fill: ' "…"', options: who })}`;
      case 'output':
        return styled`${key}${commandLine('submit', call, { fill: " '<output>'", options: who })}`;
      case 'limit':
        return styled`${key}${commandLine('approve', call, { options: `${name} --more N` })}   (or: ${commandLine('reject', call, { options: name })})`;
      case 'reply':
        return styled`${commandLine('reply', [toolCallId], { fill: ' "…"' })}   (or: ${commandLine('send', [threadId], { fill: ' "…"' })})`;
    }
  };
}
