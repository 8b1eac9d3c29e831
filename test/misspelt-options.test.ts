import { defineAgent } from '../src/agents';
import { LonghaulClient } from '../src/client';
import { createPermissions, createShell, createShellTools, defineTool, mcpTools } from '../src/tools';
import { createWorker } from '../src/worker';

// A file of agents in JavaScript has no compiler: an option that is misspelt must not be the same as none, such as an approval that is never asked for.
const misspelt = (options: object) => options as never;
const tool = { name: 'pay', description: 'Pays.', input: { type: 'object' } };
const server = { command: 'node' };

test.each<[string, () => unknown, string]>([
  [
    'defineTool',
    () => defineTool(misspelt({ ...tool, aproval: 'always' })),
    "defineTool 'pay': aproval: is not known; did you mean 'approval'?",
  ],
  [
    'a server',
    () => mcpTools(misspelt({ servers: { a: { ...server, question: true } } })),
    "servers.a: question: is not known; did you mean 'questions'?",
  ],
  [
    'a rule of a server',
    () => mcpTools(misspelt({ servers: { a: { ...server, rules: { t: { efect: 'keyed' } } } } })),
    "servers.a: rules.t.efect: is not known; did you mean 'effect'?",
  ],
  ['createShell', () => createShell(misspelt({ limit: { memoryMb: 3 } })), "createShell: limit: is not known; did you mean 'limits'?"],
  [
    'createShellTools',
    () => createShellTools(misspelt({ sandbx: 'auto' })),
    "createShellTools: sandbx: is not known; did you mean 'sandbox'?",
  ],
  [
    'createPermissions',
    () => createPermissions(misspelt({ mode: 'minimal', alow: [] })),
    "createPermissions: alow: is not known; did you mean 'allow'?",
  ],
  [
    'connect',
    () => LonghaulClient.connect(misspelt({ taskqueue: 'x' })),
    "LonghaulClient.connect: taskqueue: is not known; did you mean 'taskQueue'?",
  ],
  [
    'createWorker',
    () => createWorker(misspelt({ agents: [defineAgent({ name: 'a', model: 'openai/x', instructions: 'x' })], verifer: {} })),
    "createWorker: verifer: is not known; did you mean 'verifier'?",
  ],
])('a misspelt option of %s is an error that names the right one', async (_, make, problem) => {
  await expect(Promise.resolve().then(make)).rejects.toThrow(problem);
});
