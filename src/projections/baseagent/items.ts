import type { DurableEventData } from '../../core/event';
import { isObject, parseObject } from '../../core/json';
import { type ToolCall, textOf } from '../../core/message';

type ItemStatus = 'in_progress' | 'completed' | 'failed';

/** The outcome of a call. `exit_code` is absent until the call has ended. */
interface Outcome {
  status: ItemStatus;
  aggregated_output: string;
  exit_code?: number;
}

export type CallItem = { id: string } & Outcome &
  ({ type: 'command_execution'; command: string } | { type: 'file_change'; changes: FileChange[] });

export interface FileChange {
  path: string;
  /** `update` also if a whole file was written, because the log does not say whether it existed before. */
  kind: 'add' | 'update' | 'delete';
}

export interface Todo {
  text: string;
  completed: boolean;
}

export type BaseAgentItem =
  | CallItem
  | { id: string; type: 'agent_message' | 'reasoning'; text: string }
  | { id: string; type: 'todo_list'; items: Todo[] }
  | { id: string; type: 'error'; message: string };

/** The item of a call that begins. The command is the tool's name with its arguments as the model wrote them. */
export function callItem(id: string, { name, arguments: text }: ToolCall): CallItem {
  const begun = { status: 'in_progress' as const, aggregated_output: '' };
  const changes = changesOf(name, parseObject(text));
  if (changes.length > 0) return { id, type: 'file_change', changes, ...begun };
  return { id, type: 'command_execution', command: `${name}(${text})`, ...begun };
}

/** The same call with its outcome. BaseAgent identifies an ended command by its tool's name only. */
export function endedItem(item: CallItem, name: string, outcome: Outcome): CallItem {
  return item.type === 'command_execution' ? { ...item, command: name, ...outcome } : { ...item, ...outcome };
}

export function outcomeOf({ name, status, output, error }: DurableEventData['agent.tool.execution.completed']): Outcome {
  const text = textOf(output);
  const real = shellTools.includes(name) ? exitCodeIn(`${error?.name === 'ShellExitError' ? error.message : ''}\n${text}`) : undefined;
  const exitCode = real ?? (status === 'success' ? 0 : 1);
  return { status: exitCode === 0 ? 'completed' : 'failed', aggregated_output: text, exit_code: exitCode };
}

const shellTools = ['shell', 'shell_command'];

/** The exit code of a failed command is at the end of its output. It is also in the error, in case a hook replaced the output. */
function exitCodeIn(text: string): number | undefined {
  const found = /\[exit code: (-?\d+)\]\s*$/.exec(text) ?? /^exit code (-?\d+)$/m.exec(text.split('\n', 1)[0] ?? '');
  return found ? Number(found[1]) : undefined;
}

function changesOf(name: string, args: Record<string, unknown> | undefined): FileChange[] {
  if (!args) return [];
  if (name === 'apply_patch') return changesOfPatch(String(args.patch ?? args.input ?? ''));
  const path = args.path ?? args.file_path;
  return (name === 'write_file' || name === 'edit') && typeof path === 'string' ? [{ path, kind: 'update' }] : [];
}

const patchKinds = { Add: 'add', Update: 'update', Delete: 'delete' } as const;

function changesOfPatch(patch: string): FileChange[] {
  const named = [...patch.matchAll(/^\*\*\* (Add|Update|Delete) File: (.+?)\s*$/gm)].map(([, verb, path]) => ({
    path: path as string,
    kind: patchKinds[verb as keyof typeof patchKinds],
  }));
  if (named.length > 0) return named;
  return [...patch.matchAll(/^--- (?:a\/)?([^\t\r\n]+).*\r?\n\+\+\+ (?:b\/)?([^\t\r\n]+)/gm)].map(([, before, after]) => {
    if (before === '/dev/null') return { path: after as string, kind: 'add' };
    return after === '/dev/null' ? { path: before as string, kind: 'delete' } : { path: after as string, kind: 'update' };
  });
}

/** The agent's to-do list after a call, or undefined if the call does not change it. */
export function todosAfter({ name, arguments: text }: ToolCall, before: readonly Todo[]): Todo[] | undefined {
  if (name !== 'update_plan' && !name.startsWith('todo_')) return undefined;
  if (name === 'todo_clear') return [];
  const args = parseObject(text) ?? {};
  if (Array.isArray(args.changes)) return withChanges(before, args.changes);
  const list = [args.plan, args.steps, args.todos, args.items].find(Array.isArray);
  if (!list || name === 'todo_patch') return undefined;
  const todos = list.map(todoOf);
  return name === 'todo_append' ? [...before, ...todos] : todos;
}

function withChanges(before: readonly Todo[], changes: readonly unknown[]): Todo[] {
  const after = [...before];
  for (const change of changes.filter(isObject)) {
    const at = Number(change.step) - 1;
    const todo = after[at];
    const { text, completed } = todoOf(change.description === undefined ? { ...change, step: todo?.text } : change);
    if (todo) after[at] = { text, completed };
  }
  return after;
}

function todoOf(entry: unknown): Todo {
  if (!isObject(entry)) return { text: String(entry), completed: false };
  const { step, description, content, text, title, status, completed } = entry;
  const words = [step, description, content, text, title].find((value) => typeof value === 'string');
  return { text: String(words ?? ''), completed: completed === true || status === 'completed' || status === 'done' };
}
