import { continueAsNew, defineQuery, defineUpdate, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';

const { note } = proxyActivities<{ note(seen: Seen): Promise<void> }>({ startToCloseTimeout: '1 minute' });

/** What workflow code saw of its history in one workflow task; kept in history as the activity's input. */
export interface Seen {
  continueAsNewSuggested: boolean;
  historyLength: number;
  historySize: number;
}

/** Continues as new when the SDK suggests it; ends after so many executions, or steps of one. */
export async function counter(executions: number, most: number): Promise<void> {
  let steps = 0;
  setHandler(defineQuery('steps'), () => steps);
  setHandler(defineUpdate('nudge'), () => undefined);
  while (steps < most && !workflowInfo().continueAsNewSuggested) {
    const { continueAsNewSuggested, historyLength, historySize } = workflowInfo();
    await note({ continueAsNewSuggested, historyLength, historySize });
    steps += 1;
  }
  if (executions > 1) await continueAsNew<typeof counter>(executions - 1, most);
}
