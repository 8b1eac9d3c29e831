import { startedByNpx } from '../../config';
import type { PendingCall } from '../../core/event';
import { printableLine } from '../../core/printable';
import { exampleContent } from '../../core/questions';
import { outcomeMark } from '../../core/settling';
import { Styled, styled } from '../views/styled';

/**
 * Quotes a word for a shell. Hints are copied, and anyone may have chosen the ids in them. Invisible characters are written as escapes that bash and
 * zsh read. So are blanks: a terminal may wrap the line at any character, and a row with blanks could look like another command.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (printableLine(text) === text && !text.includes(' ')) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[^!-~]|[\\']/gu, escaped)}'`;
}

function escaped(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`;
  if (character === ' ') return '\\x20';
  return `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
}

/** A command line with untrusted words, and `fill` for the reader to replace. Words that begin with a dash are not taken for options. */
export function commandLine(command: string, words: readonly string[], { fill = '', options = '' } = {}): Styled {
  const given = `${words.map(shellWord).join(' ')}${fill}`;
  const dash = words.some((word) => word.startsWith('-'));
  const program = programName();
  return dash ? styled`${program} ${command}${options} -- ${given}` : styled`${program} ${command} ${given}${options}`;
}

/** How the user starts this program. */
export function programName(): string {
  return startedByNpx() ? 'npx longhaul' : 'longhaul';
}

/** The commands that answer a pending call. */
export function answerHint(threadId: string): (call: PendingCall) => Styled {
  return ({ kind, toolCallId, users, groups, approvers = 1, digest, since, signed, question }) => {
    const call = [threadId, toolCallId];
    // `--by` is needed if the call is for certain people, or if several people must approve.
    const name = signed || users || groups || approvers > 1 ? ' --by YOU' : '';
    // If answers are signed, the workers know the groups.
    const who = `${name}${groups && !signed ? ` --group ${shellWord(groups[0] ?? '')}` : ''}`;
    const key = signed ? 'LONGHAUL_SIGNING_KEY=YOU.pem ' : '';
    switch (kind) {
      case 'approval': {
        // Approves only the arguments that are shown with this hint.
        const expect = digest ? ` --expect ${shellWord(digest)}` : '';
        const refuse = commandLine('reject', call, { options: `${who} --reason "…"` });
        return styled`${key}${commandLine('approve', call, { options: `${expect}${who}` })}   (or: ${refuse})`;
      }
      case 'question':
        return styled`${key}${commandLine('answer', call, { fill: ' "…"', options: who })}`;
      case 'tool-question': {
        const others = ['decline', 'cancel'].map((action) => commandLine('answer', call, { options: ` --${action}${who}` }));
        const fill = question?.schema ? ` ${shellWord(JSON.stringify(exampleContent(question.schema)))}` : '';
        return styled`${key}${commandLine('answer', call, { fill, options: who })}   (or: ${Styled.join(others, '; ')})`;
      }
      case 'output':
        return styled`${key}${commandLine('submit', call, { fill: " '<output>'", options: who })}`;
      case 'outcome': {
        // Settles only the outcome that is shown with this hint.
        const mark = outcomeMark({ ...(digest && { digest }), ...(since && { since }) });
        const rest = `${mark && ` --expect ${shellWord(mark)}`}${who}`;
        const ways = [
          commandLine('settle', call, { options: ` --not-done${rest}` }),
          commandLine('settle', call, { options: ` --failed "…"${rest}` }),
        ];
        return styled`${key}${commandLine('settle', call, { options: ` --done '<output>'${rest}` })}   (or: ${ways[0] ?? ''}; ${ways[1] ?? ''})`;
      }
      case 'limit':
        return styled`${key}${commandLine('approve', call, { options: `${name} --more N` })}   (or: ${commandLine('reject', call, { options: name })})`;
      case 'reply':
        return styled`${commandLine('reply', [toolCallId], { fill: ' "…"' })}   (or: ${commandLine('send', [threadId], { fill: ' "…"' })})`;
    }
  };
}
