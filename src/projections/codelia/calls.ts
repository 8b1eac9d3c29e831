import type { DurableEventData } from '../../core/event';
import type { AnswerPart, ToolCall } from '../../core/message';
import { type Said, said } from './item';
import { argumentsOf, previewOf, viewOf, wholeText } from './words';

interface Track {
  call: ToolCall;
  /** Items that are not reported yet. */
  items: Said[];
  begun: boolean;
  waits: boolean;
  done: boolean;
  startedAt?: number;
}

/**
 * The calls of one answer. codelia runs them one after another, but Longhaul may run them in parallel. So the items of a call are reported only after the
 * calls before it, in the model's order, are done.
 */
export class CodeliaCalls {
  #tracks: Track[] = [];
  #front = 0;
  #stopped = false;
  /** The number of steps of hosted tools, which come before the calls in the same iteration. */
  #hosted = 0;

  constructor(readonly tell: (item: Said) => void) {}

  /** Reports the hosted tools of an answer, whose duration is unknown. Several parts with the same id are one step. */
  hosted(answer: readonly AnswerPart[]): void {
    const parts = new Map(answer.flatMap((part) => (part.type === 'hosted-tool' ? [[part.id, part] as const] : [])));
    this.#hosted = parts.size;
    for (const [at, { id, name, input, output = null, isError }] of [...parts.values()].entries()) {
      const result = viewOf(typeof output === 'string' ? output : JSON.stringify(output), id);
      const status = isError ? 'error' : 'completed';
      this.tell(said({ type: 'step_start', step_id: id, title: name, step_number: at + 1 }));
      this.tell(said({ type: 'tool_call', tool: name, ...argumentsOf({ id, name, arguments: JSON.stringify(input) }), tool_call_id: id }));
      this.tell(said({ type: 'tool_result', tool: name, result, tool_call_id: id, ...(isError && { is_error: true }) }));
      this.tell(said({ type: 'step_complete', step_id: id, status, duration_ms: 0 }));
    }
  }

  open(calls: readonly ToolCall[]): void {
    this.#front = 0;
    this.#stopped = false;
    this.#tracks = calls.map((call) => ({ call, items: [], begun: false, waits: false, done: false }));
  }

  /** The run is being cancelled: no more calls begin, but those that began still get their results. */
  stop(): void {
    this.#stopped = true;
  }

  has(id: string): boolean {
    return this.#find(id) !== undefined;
  }

  started(id: string, timestamp: string): void {
    const track = this.#find(id);
    if (!track) return;
    track.startedAt = Date.parse(timestamp);
    this.#begin(track);
    this.#drain();
  }

  /** The call waits for an approval. */
  asked(call: ToolCall, reason: string | undefined): void {
    const track = this.#find(call.id);
    if (!track || !this.#begin(track)) return;
    const about = { tool: call.name, tool_call_id: call.id };
    const preview = previewOf(call, reason);
    if (preview) track.items.push(said({ type: 'permission.preview', ...about, ...preview }));
    track.items.push(said({ type: 'permission.ready', ...about }));
    this.waits(call.id);
  }

  /** The call waits for an output or an answer from outside. */
  waits(id: string): void {
    const track = this.#find(id);
    if (!track || track.waits || !this.#begin(track)) return;
    track.waits = true;
    track.items.push({ kind: 'status', status: 'awaiting_ui' });
    this.#drain();
  }

  decided(id: string): void {
    const track = this.#find(id);
    if (!track) return;
    goOn(track);
    this.#drain();
  }

  completed(
    { toolCallId, name, output, outputRef, isError, durationMs }: DurableEventData['agent.tool.execution.completed'],
    timestamp: string,
  ): void {
    const track = this.#find(toolCallId);
    if (!track) return;
    track.done = true;
    if (this.#begin(track)) {
      goOn(track);
      const took = durationMs ?? (track.startedAt === undefined ? 0 : Date.parse(timestamp) - track.startedAt);
      // A view with a reference is not cut a second time.
      const result = outputRef?.trimmed ? wholeText(output) : viewOf(wholeText(output), toolCallId);
      const status = isError ? 'error' : 'completed';
      track.items.push(
        { kind: 'output', tool: name, toolCallId, content: output, isError, ...(outputRef && { outputRef }) },
        said({ type: 'tool_result', tool: name, result, tool_call_id: toolCallId, ...(isError && { is_error: true }) }),
        said({ type: 'step_complete', step_id: toolCallId, status, duration_ms: Math.max(0, Math.round(took)) }),
      );
    }
    this.#drain();
  }

  #find(id: string): Track | undefined {
    return this.#tracks.find(({ call }) => call.id === id);
  }

  /** Reports the beginning of the call once. Returns false if the call must no longer be reported. */
  #begin(track: Track): boolean {
    if (track.begun || this.#stopped) return track.begun;
    track.begun = true;
    const { id, name } = track.call;
    track.items.push(
      said({ type: 'step_start', step_id: id, title: name, step_number: this.#hosted + this.#tracks.indexOf(track) + 1 }),
      said({ type: 'tool_call', tool: name, ...argumentsOf(track.call), tool_call_id: id }),
    );
    return true;
  }

  #drain(): void {
    for (let track = this.#tracks[this.#front]; track; track = this.#tracks[this.#front]) {
      for (const item of track.items.splice(0)) this.tell(item);
      if (!track.done) return;
      this.#front += 1;
    }
  }
}

function goOn(track: Track): void {
  if (!track.waits) return;
  track.waits = false;
  track.items.push({ kind: 'status', status: 'running' });
}
