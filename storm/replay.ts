import type { RecordedHistory } from '../src/testing/history-file';
import { replayHistories } from '../src/testing/replay';
import type { Violation } from './check/evidence';
import type { History } from './check/gather';
import { encodingIn } from './keys';
import type { Rig } from './rig';

/** Replays histories with the current workflow code. This is the only check that uses the engine and the SDK. */
export async function replay(
  { codePath, folder }: Pick<Rig, 'codePath' | 'folder'>,
  histories: readonly { workflowId: string; history: History }[],
): Promise<{ replayed: number; violations: Violation[] }> {
  const { replayed, skipped, diverged } = await replayHistories(histories as unknown as RecordedHistory[], {
    workflowBundle: { codePath },
    encoding: encodingIn(folder),
  });
  const violation = (rule: string, thread: string, what: string): Violation => ({ rule, thread, what });
  return {
    replayed,
    violations: [
      ...diverged.map(({ threadId, runId, error }) => violation('diverged', threadId, `${runId}: ${error.slice(0, 400)}`)),
      ...skipped.map(({ threadId, runId, why }) => violation('unreadable', threadId, `${runId} could not be replayed: ${why}`)),
    ],
  };
}
