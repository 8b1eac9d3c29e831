import { withoutApproval } from './approvals';
import { wrongCompensations } from './compensations';
import { wrongEffects } from './effects';
import type { Evidence, Rule, Violation } from './evidence';
import { brokenLogs, misread, unpaired } from './logs';
import { lostControls, lostDecisions, lostMessages } from './requests';
import { failedTasks, unbounded, wedged } from './rest';
import { falseTranscripts } from './transcripts';
import { lostOutputs, wrongRequests } from './windows';

export const rules: readonly Rule[] = [
  wedged,
  failedTasks,
  unbounded,
  brokenLogs,
  unpaired,
  misread,
  wrongEffects,
  wrongCompensations,
  withoutApproval,
  lostMessages,
  lostDecisions,
  lostControls,
  falseTranscripts,
  wrongRequests,
  lostOutputs,
];

export function judge(evidence: Evidence): Violation[] {
  return rules.flatMap((rule) => rule(evidence));
}
