import type { Thread } from '../../client';
import type { PendingCall } from '../../core/event';
import { sameName } from '../../core/people';
import { lineOf } from '../exit';
import { type Styled, styled } from '../views/styled';
import { note } from '../views/terminal';

/** Answers pending calls while a run is followed. */
export interface Approvals {
  /** Called with what the run waits for. Returns `nobody` if no one here can answer it. */
  offer(pending: PendingCall[]): Promise<'nobody' | 'answering'>;
  /** Called when someone has paused the thread. */
  paused?(): Promise<'nobody' | 'answering'>;
  /** Called when a call was answered, perhaps elsewhere, or can't be answered any more. */
  decided(toolCallId: string): void;
  resumed?(): void;
}

/** The calls that still wait. The event that reported them may be old, because a reader may attach late. */
export async function stillPending(thread: Thread, pending: PendingCall[]): Promise<PendingCall[]> {
  const ids = new Set(pending.map((call) => call.toolCallId));
  return (await thread.pending()).filter((call) => ids.has(call.toolCallId));
}

/** Whether someone is among the people who may decide. Their identity can't be checked here. */
export function isFor({ users, groups, signed }: PendingCall, who: { by?: string; groups?: string[] }): boolean {
  // If answers are signed, the workers know who is in which group.
  if ((!users && !groups) || (signed && groups)) return true;
  const { by = '', groups: mine = [] } = who;
  return users?.some((user) => sameName(user, by)) === true || groups?.some((group) => mine.some((own) => sameName(own, group))) === true;
}

export function hasVoted({ votes = [] }: PendingCall, by: string | undefined): boolean {
  return by !== undefined && votes.some((vote) => sameName(vote, by));
}

/** The message after an approval of a call that others must approve, too. */
export function agreedWords(by: string, { toolCallId, approvers = 1, votes = [] }: PendingCall): Styled {
  return styled`${by} agrees to ${toolCallId}; ${approvers - votes.length} more must agree.`;
}

export function nobody(thread: Thread): Approvals {
  return {
    offer: async (pending) => ((await stillPending(thread, pending)).length > 0 ? 'nobody' : 'answering'),
    paused: async () => ((await thread.status()).paused ? 'nobody' : 'answering'),
    decided: () => undefined,
  };
}

/**
 * `--yes`: gives every approval that anyone may give. It does not submit outputs, answer questions or reply, and it does not raise limits, because the
 * run might then never end.
 */
export function yesToAll(thread: Thread, { by = 'longhaul run --yes', groups }: { by?: string; groups?: string[] } = {}): Approvals {
  return {
    ...nobody(thread),
    async offer(pending) {
      const waiting = await stillPending(thread, pending);
      for (const call of waiting) {
        if (call.kind !== 'approval' || hasVoted(call, by)) continue;
        try {
          await thread.approve(call.toolCallId, { by, ...(groups && { groups }) });
        } catch (error) {
          if ((error as { code?: string }).code === 'thread-closed') return 'answering';
          if ((error as { code?: string }).code !== 'request-refused') throw error;
          // Others must decide, which is reported; or somebody has already decided, which is fine.
          if ((await stillPending(thread, [call])).length > 0) note(styled`${lineOf(error)}`.fit(process.stderr.columns));
        }
      }
      const left = await stillPending(thread, waiting);
      // If some calls were answered, the run continues and reports again what else it waits for.
      if (left.length === 0 || left.length < waiting.length) return 'answering';
      for (const call of left) if (hasVoted(call, by)) note(agreedWords(by, call).fit(process.stderr.columns));
      return 'nobody';
    },
  };
}
