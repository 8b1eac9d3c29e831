import { resolve } from 'node:path';
import type { Agent } from '../../agents/define-agent';
import { readConfig } from '../../config';
import type { PermissionRule } from '../../core/tool';
import { isPerThread } from '../../tools/built-in/thread-workspace';
import type { PermissionStore } from '../../tools/permissions/permission-store';
import type { Permissions } from '../../tools/permissions/permissions';
import { configuredAgents } from '../../worker/agents-file';
import { UsageError } from '../exit';
import { rulesWords } from '../views/render-people';
import { paint, styled } from '../views/styled';
import { note, print, printJson } from '../views/terminal';

/** Which agent's permissions. */
export interface Whose {
  agents?: string;
  agent?: string;
  mode?: string;
  sandbox?: string;
  json?: boolean;
}

const meanings = {
  allow: 'it runs without approval',
  ask: 'a person is asked',
  deny: 'it is refused',
  undecided: "the permissions do not decide; the tool's own approval does",
} as const;

/** Prints what an agent's permissions decide about a shell command, and why. Nothing is run. */
export async function explainPolicy(command: string, { folder, json, ...whose }: Whose & { folder?: string }): Promise<void> {
  const { agent, permissions } = await permissionsOf(whose);
  const setting = folder ?? agent.workspace ?? readConfig().workspace ?? '.';
  if (isPerThread(setting)) throw new UsageError(`Each thread works in a folder of its own (${setting}). Name one with --folder.`);
  const workspace = resolve(setting);
  const sandboxed = agent.toolbox.get('shell')?.sandbox?.confines && { sandboxed: true as const };
  const explanation = await permissions.explain({ tool: 'shell', args: { command }, workspace, ...sandboxed });
  if (json) return printJson(explanation);
  const { decision, why } = explanation;
  print(styled`${paint.bold(decision)}: ${meanings[decision]}\n`);
  for (const line of why) print(styled`  ${line}\n`.fit(process.stdout.columns));
}

/** Prints the rules that people remembered for all threads of an agent, with the numbers that `removeRule` takes. */
export async function listRules({ json, ...whose }: Whose): Promise<void> {
  const { agent, store } = await storeOf(whose);
  const rules = await store.load(agent.name);
  if (json) return printJson(rules);
  if (rules.length === 0) note(styled`Nothing is remembered for agent ${agent.name}.`);
  for (const [at, rule] of rules.entries()) print(styled`${String(at + 1)}  ${rulesWords([rule])}\n`);
}

/** Removes a remembered rule. */
export async function removeRule(number: number, { json, ...whose }: Whose): Promise<void> {
  const { agent, store } = await storeOf(whose);
  const rules = await store.load(agent.name);
  const rule = rules[number - 1];
  if (!rule) throw new UsageError(`policy remove: agent ${agent.name} has ${rules.length} remembered rules; policy list numbers them`);
  if (!store.remove) throw new Error(`The permission store of agent ${agent.name} has no function 'remove'.`);
  await store.remove(agent.name, [rule]);
  if (json) return printJson(rule satisfies PermissionRule);
  note(styled`Removed: ${rulesWords([rule])} needs approval again, unless another rule or the mode allows it.`);
}

async function permissionsOf({ agents: file, agent: name, mode, sandbox }: Whose): Promise<{ agent: Agent; permissions: Permissions }> {
  const { agents } = await configuredAgents({ file, mode, sandbox });
  const names = agents.map((one) => one.name).join(', ');
  if (name === undefined && agents.length > 1) throw new UsageError(`policy: say which agent with --agent (${names})`);
  const agent = name === undefined ? agents[0] : agents.find((one) => one.name === name);
  if (!agent) throw new UsageError(`policy: there is no agent '${name}'; there is ${names}`);
  const { permissions } = agent;
  if (!permissions) throw new Error(`Agent ${agent.name} has no permissions: the approval of each tool decides.`);
  return { agent, permissions };
}

async function storeOf(whose: Whose): Promise<{ agent: Agent; store: PermissionStore }> {
  const { agent, permissions } = await permissionsOf(whose);
  const { store } = permissions;
  if (!store) throw new Error(`The permissions of agent ${agent.name} have no store, so nothing is remembered for all of its threads.`);
  return { agent, store };
}
