import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { runOf } from '../core/calls';
import { isPassedOn } from '../core/failure';
import type { AssistantMessage } from '../core/message';
import { inForce, stepIdOf } from '../core/state';
import { failureOf, type ModelResult, type ModelWishes, requestAnswer, spentInVain, spentOn } from './call-model';
import { roomMaker } from './make-room';
import { newId } from './record';
import { stepScope } from './stop-steps';
import type { ThreadContext } from './thread-context';

/** Records the empty answer that the model is about to write. */
function announce({ state, record }: ThreadContext): AssistantMessage {
  const draft: AssistantMessage = { id: newId('msg'), role: 'assistant', content: [], attempt: 1 };
  record('thread.message.created', { stepId: stepIdOf(runOf(state)), message: draft, inProgress: true });
  return draft;
}

/** Returns the turn's answer, from the first model of the list that gives one. `superseded`: a message aborted the call. */
export async function askModels(
  thread: ThreadContext,
  wishes: ModelWishes,
): Promise<{ result: ModelResult; draft: AssistantMessage } | 'superseded'> {
  for (;;) {
    const draft = announce(thread);
    try {
      const result = await askModel(thread, draft.id, wishes);
      if (result === 'superseded') return 'superseded';
      const isFiltered = result.step.finishReason === 'content_filter';
      if (!isFiltered || !fallBack(thread, wishes, { code: 'content-filter', message: filtered }, { draft, result }))
        return { result, draft };
    } catch (error) {
      const { code, message } = failureOf(error);
      if (isCancellation(error) || !fallBack(thread, wishes, { code, message })) throw error;
    }
  }
}

const filtered = "The provider's content filter stopped the answer.";

/** Switches to the next model of the list, if there is one and the failure may be specific to this model. Returns whether it did. */
function fallBack(
  { state, record }: ThreadContext,
  wishes: ModelWishes,
  { code, message }: { code: string; message: string },
  unused?: { draft: AssistantMessage; result: ModelResult },
): boolean {
  const { model = '', fallbackModels } = inForce(state);
  const [nextModel] = fallbackModels;
  // A model that a hook chose has no fallback.
  if (wishes.model !== undefined || nextModel === undefined) return false;
  if (!isPassedOn(code, { contentFilter: state.facts?.fallbackOnContentFilter === true })) return false;
  const stepId = stepIdOf(runOf(state));
  // A call that failed has already been recorded as incomplete.
  if (unused) record('thread.message.incomplete', { stepId, messageId: unused.draft.id, reason: 'failed', spent: spentOn(unused.result) });
  record('agent.llm.fallback', { stepId, model, nextModel, code, message });
  return true;
}

/** Makes one model call. Returns `superseded` if a message with delivery `now` aborted it. Throws what the call fails with. */
export async function askModel(thread: ThreadContext, messageId: string, wishes: ModelWishes = {}): Promise<ModelResult | 'superseded'> {
  // One scope for all model calls of a run, because a scope is expensive. It is replaced after it was cancelled.
  thread.modelCalls ??= stepScope(thread.state, 'model-calls');
  const scope = thread.modelCalls;
  thread.asking = true;
  try {
    return await requestAnswer(thread, messageId, wishes, { scope, makeRoom: roomMaker(thread) });
  } catch (error) {
    // If the run itself was cancelled meanwhile, the call counts as cancelled.
    const superseded = scope.consideredCancelled && isCancellation(error) && !CancellationScope.current().consideredCancelled;
    const spent = spentInVain(error, wishes.model ?? inForce(thread.state).model ?? '');
    thread.record('thread.message.incomplete', {
      stepId: stepIdOf(runOf(thread.state)),
      messageId,
      reason: superseded ? 'superseded' : isCancellation(error) ? 'cancelled' : 'failed',
      ...(spent && { spent }),
    });
    if (superseded) return 'superseded';
    throw error;
  } finally {
    thread.asking = false;
    // Also if the answer arrived despite the cancel: the next call would begin cancelled.
    if (scope.consideredCancelled) delete thread.modelCalls;
  }
}
