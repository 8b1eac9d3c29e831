import type { Agent } from '../agents/define-agent';
import type { CommandSandbox } from '../tools/defining/define-tool';

/**
 * How the commands of agents run, for those that set a sandbox: one sentence for each agent. Throws if an agent's commands may run only in a sandbox
 * that can't be used here.
 */
export function sandboxesOf(agents: readonly Agent[]): { words: string[]; warnings: string[] } {
  const found = agents.flatMap(({ name, toolbox }) =>
    toolbox.names().flatMap((tool) => {
      const sandbox = toolbox.get(tool)?.sandbox;
      return sandbox ? [{ name, sandbox }] : [];
    }),
  );
  const missing = found.find(({ sandbox }) => sandbox.state === 'missing');
  if (missing) {
    throw new Error(
      `The commands of agent ${missing.name} may run only in a sandbox, which can't be used on this machine: ${missing.sandbox.problem}.`,
    );
  }
  const wordsFor = (some: typeof found) => [...new Set(some.map(({ name, sandbox }) => `commands of ${name} run ${how(sandbox)}`))];
  return { words: wordsFor(found), warnings: wordsFor(found.filter(({ sandbox }) => sandbox.state === 'unused')) };
}

function how({ problem, network }: CommandSandbox): string {
  if (problem !== undefined) return `without a sandbox: ${problem}`;
  return network ? 'in a sandbox, with network' : 'in a sandbox, without network';
}
