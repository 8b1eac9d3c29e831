import type { PendingCall } from '../core/event';

/** A word as a shell takes it: ids are often anybody's choice. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** How whoever reads it answers what waits from a command line. */
export function answerHint(threadId: string): (call: PendingCall) => string {
  const thread = shellWord(threadId);
  return ({ kind, toolCallId, users, groups, approvers = 1 }) => {
    const id = shellWord(toolCallId);
    // Who it is for, and who must be told apart from others, has to say who they are.
    const who = `${users || groups || approvers > 1 ? ' --by YOU' : ''}${groups ? ` --group ${shellWord(groups[0] ?? '')}` : ''}`;
    switch (kind) {
      case 'approval':
        return `longhaul approve ${thread} ${id}${who}   (or: longhaul reject ${thread} ${id}${who} --reason "…")`;
      case 'question':
        return `longhaul answer ${thread} ${id} "…"${who}`;
      case 'output':
        return `longhaul submit ${thread} ${id} '<output>'${who}`;
      case 'limit':
        return `longhaul approve ${thread} ${id} --more N   (or: longhaul reject ${thread} ${id})`;
      case 'reply':
        return `longhaul reply ${id} "…"   (or: longhaul send ${thread} "…")`;
    }
  };
}
