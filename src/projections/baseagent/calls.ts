import type { DurableEventData, EphemeralEventData } from '../../core/event';
import { shownContent, type ToolCall } from '../../core/message';
import { type BaseAgentItem, type CallItem, callItem, endedItem, outcomeOf, type Todo, todosAfter } from './items';

export type TellItem = (type: 'item.started' | 'item.updated' | 'item.completed', item: BaseAgentItem) => void;

interface OpenCall {
  item: CallItem;
  name: string;
  attempt: number;
  progress: string;
}

/** The number of newest characters of a running tool's output that an update contains. */
const shownProgress = 2_000;

/** The items of tool calls. Each item that is started is completed, at the latest at the end of its turn. */
export class BaseAgentCalls {
  #calls = new Map<string, ToolCall>();
  #running = new Map<string, OpenCall>();
  /** Background calls, whose result arrives later. */
  #background = new Set<string>();
  #todos: { id: string; items: Todo[] } | undefined;

  constructor(
    readonly tell: TellItem,
    readonly newId: () => string,
  ) {}

  asked(calls: readonly ToolCall[]): void {
    for (const call of calls) this.#calls.set(call.id, call);
  }

  edit({ toolCallId: id, editedArguments: text }: DurableEventData['agent.approval.decided']): void {
    const call = this.#calls.get(id);
    if (call && text !== undefined) this.#calls.set(id, { ...call, arguments: text });
  }

  begin(id: string, name: string): void {
    const call = this.#callOf(id, name);
    // A to-do list is reported when the call has succeeded, with its content at that time.
    if (!this.#running.has(id) && !todosAfter(call, [])) this.#open(call);
  }

  progress({ toolCallId, attempt, message }: EphemeralEventData['agent.tool.progress']): void {
    const open = this.#running.get(toolCallId);
    if (!open) return;
    open.progress = attempt === open.attempt && open.progress ? `${open.progress}\n${message}`.slice(-shownProgress) : message;
    open.attempt = attempt;
    this.tell('item.updated', { ...open.item, aggregated_output: open.progress });
  }

  finish(data: DurableEventData['agent.tool.execution.completed']): void {
    const call = this.#callOf(data.toolCallId, data.name);
    if (data.background) this.#background.add(call.id);
    const todos = data.status === 'success' ? todosAfter(call, this.#todos?.items ?? []) : undefined;
    if (todos) return this.#tellTodos(todos);
    const { item } = this.#running.get(call.id) ?? this.#open(call);
    this.#running.delete(call.id);
    this.tell('item.completed', endedItem(item, call.name, outcomeOf(data)));
  }

  /** The call's own item ended with the placeholder result that the model received. The actual result is a separate item. */
  finishLater({ message, ...data }: DurableEventData['agent.tool.background.completed']): void {
    const call = this.#callOf(data.toolCallId, data.name);
    this.#background.delete(call.id);
    const item = callItem(this.newId(), call);
    this.tell('item.started', item);
    const outcome = outcomeOf({ ...data, stepId: '', messageId: message.id, output: shownContent(message) });
    this.tell('item.completed', endedItem(item, call.name, outcome));
  }

  endTurn(): void {
    for (const { item, name, progress } of this.#running.values())
      this.tell('item.completed', endedItem(item, name, { status: 'failed', aggregated_output: progress, exit_code: 1 }));
    if (this.#todos) this.tell('item.completed', { type: 'todo_list', ...this.#todos });
    this.#running.clear();
    this.#todos = undefined;
    for (const id of this.#calls.keys()) if (!this.#background.has(id)) this.#calls.delete(id);
  }

  #callOf(id: string, name: string): ToolCall {
    return this.#calls.get(id) ?? { id, name, arguments: '' };
  }

  #open(call: ToolCall): OpenCall {
    const open = { item: callItem(this.newId(), call), name: call.name, attempt: 1, progress: '' };
    this.#running.set(call.id, open);
    this.tell('item.started', open.item);
    return open;
  }

  #tellTodos(items: Todo[]): void {
    const known = this.#todos;
    this.#todos = { id: known?.id ?? this.newId(), items };
    this.tell(known ? 'item.updated' : 'item.started', { type: 'todo_list', ...this.#todos });
  }
}
