import type { Thread } from '../client';
import type { PendingCall } from '../core/event';
import { sameName } from '../core/people';
import { lineOf } from './exit';
import { type Styled, styled } from './styled';
import { note } from './terminal';

/** Who answers what waits while a run is followed. */
export interface Approvals {
  /** What the run rests on. `nobody`: no one here can answer it. */
  offer(pending: PendingCall[]): Promise<'nobody' | 'answering'>;
  /** Someone has paused the thread. */
  paused?(): Promise<'nobody' | 'answering'>;
  /** Somebody, perhaps elsewhere, has answered, or it can't be answered any more. */
  decided(toolCallId: string): void;
  resumed?(): void;
}

/** Whether anything still waits decides, not what an old event says: a reader may come late. */
export async function stillPending(thread: Thread, pending: PendingCall[]): Promise<PendingCall[]> {
  const ids = new Set(pending.map((call) => call.toolCallId));
  return (await thread.pending()).filter((call) => ids.has(call.toolCallId));
}

/** Whether someone is among those who are asked. Whether they are who they say, nobody here can tell. */
export function isFor({ users, groups, signed }: PendingCall, who: { by?: string; groups?: string[] }): boolean {
  // Where answers are signed, the workers know who is in which group.
  if ((!users && !groups) || (signed && groups)) return true;
  const { by = '', groups: mine = [] } = who;
  return users?.some((user) => sameName(user, by)) === true || groups?.some((group) => mine.some((own) => sameName(own, group))) === true;
}

export function hasVoted({ votes = [] }: PendingCall, by: string | undefined): boolean {
  return by !== undefined && votes.some((vote) => sameName(vote, by));
}

/** Of a call that others must agree to, too. */
export function agreedWords(by: string, { toolCallId, approvers = 1, votes = [] }: PendingCall): Styled {
  return styled`${by} agrees to ${toolCallId}; ${approvers - votes.length} more must.`;
}

export function nobody(thread: Thread): Approvals {
  return {
    offer: async (pending) => ((await stillPending(thread, pending)).length > 0 ? 'nobody' : 'answering'),
    paused: async () => ((await thread.status()).paused ? 'nobody' : 'answering'),
    decided: () => undefined,
  };
}

/**
 * `--yes`: every approval is given that anyone may give. An output, an answer or a reply is nothing that can be agreed to, and more of a
 * limit is granted by nobody: it would have no end.
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
          // It is for others to decide; or somebody was faster, which is all that was wanted.
          if ((await stillPending(thread, [call])).length > 0) note(styled`${lineOf(error)}`);
        }
      }
      const left = await stillPending(thread, waiting);
      // What goes on for one answer says again what else it rests on.
      if (left.length === 0 || left.length < waiting.length) return 'answering';
      for (const call of left) if (hasVoted(call, by)) note(agreedWords(by, call));
      return 'nobody';
    },
  };
}
