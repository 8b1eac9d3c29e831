import { allowedParts, commandOf, commandsOf, isCommandAlone, type Leave, type PermissionCall } from './permission-rules';
import { readShellCommand } from './shell-command';

/** What permissions decide about a call, and why. */
export interface Explanation {
  /** `undecided`: the tool's own approval decides. */
  decision: 'allow' | 'ask' | 'deny' | 'undecided';
  /** A sentence for each part of the call: for a shell command, each simple command in it. */
  why: string[];
}

/** Explains a call that no deny rule refuses. `elsewhere`: why the folder of the permissions is not that of the tool. */
export function explainLeave(leave: Leave, call: PermissionCall, elsewhere: string | undefined): Explanation {
  const parts = [...allowedParts(leave, call)];
  const isAllowed = parts.every(({ by }) => by !== undefined);
  const decision = isAllowed ? 'allow' : leave.mode === undefined ? 'undecided' : 'ask';
  const unclear = elsewhere ?? whyUnclear(leave, call);
  if (!isAllowed && unclear !== undefined) return { decision, why: [`${commandOf(call) ?? call.tool}: ${unclear}`] };
  return { decision, why: parts.map(({ what, by }) => `${what}: ${by === undefined ? nothing(leave) : `allowed by ${by}`}`) };
}

function nothing({ mode }: Leave): string {
  return mode === undefined ? 'no rule allows it' : `no rule allows it, and in the mode ${mode} it is not known to be safe`;
}

/** Why a command can't be divided into its parts. */
function whyUnclear({ root, mode, rules, remembered }: Leave, call: PermissionCall): string | undefined {
  const command = commandOf(call);
  if (command === undefined || (mode === undefined && rules.length + remembered.length === 0)) return undefined;
  if (!isCommandAlone(call)) return 'it has arguments besides those of the built-in shell, so its command alone does not say what it does';
  const read = readShellCommand(command);
  if (!read.understood) return `it is not understood, because ${read.why}`;
  return commandsOf(call, root) ? undefined : 'it may leave the workspace';
}
