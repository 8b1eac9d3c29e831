import type { Activities } from '../contract/activities';
import { archiveMessages } from './archive-messages';
import { awaitCall } from './await-call';
import { callModel } from './call-model';
import { checkArguments } from './check-arguments';
import { compensateTool } from './compensate-tool';
import { readClosed } from './read-closed';
import { rememberRules } from './remember-rules';
import { requestCancel } from './request-cancel';
import { resolveAgent } from './resolve-agent';
import { runHooks } from './run-hooks';
import { runTool } from './run-tool';
import { withBoundary } from './steps/boundary';
import type { ActivityDependencies } from './steps/dependencies';
import { verifyDecision } from './verify-decision';

export type { ActivityDependencies } from './steps/dependencies';
export { TranscriptCache } from './steps/transcript-cache';
export type { DecisionVerifier, Signatory } from './verify-decision';

export function createActivities(deps: ActivityDependencies): Activities {
  return withBoundary({
    resolveAgent: resolveAgent(deps),
    callModel: callModel(deps),
    runTool: runTool(deps),
    compensateTool: compensateTool(deps),
    runHooks: runHooks(deps),
    checkArguments: checkArguments(deps),
    verifyDecision: verifyDecision(deps),
    rememberRules: rememberRules(deps),
    archiveMessages: archiveMessages(deps),
    awaitCall,
    readClosed,
    requestCancel,
  });
}
