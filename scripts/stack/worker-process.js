// @ts-check
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { guarded } = require('../guarded');
const { root } = require('./compose');
const { until } = require('./until');

/** @typedef {Awaited<ReturnType<typeof import('./temporal-stack').temporalStack>>} Stack */

/** Runs the worker from the image's folder, with only the environment that its container would have. */
function workerProcess(
  /** @type {Stack} */ stack,
  /** @type {{ folder: string, command: string[] }} */ image,
  /** @type {string} */ modelUrl,
) {
  const agentsFile = path.join(image.folder, 'agents.js');
  fs.copyFileSync(path.join(root, 'scripts', 'stack', 'agents.js'), agentsFile);
  const workspace = path.join(stack.folder, 'workspace');
  const journal = path.join(stack.folder, 'journal');
  fs.mkdirSync(workspace, { recursive: true });
  fs.writeFileSync(journal, '');
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    NODE_ENV: 'production',
    TEMPORAL_ADDRESS: stack.address,
    TEMPORAL_NAMESPACE: stack.namespace,
    LONGHAUL_WORKSPACE: workspace,
    OPENAI_API_KEY: 'scripted',
    OPENAI_BASE_URL: modelUrl,
    JOURNAL: journal,
  };
  /** @type {import('../guarded').Guarded | undefined} */
  let running;
  const inFolder = (/** @type {string[]} */ [command = '', ...args]) => [
    command === 'node' ? process.execPath : command,
    args.map((arg) => (arg.endsWith('.js') ? path.join(image.folder, arg) : arg)),
  ];
  return {
    run: (/** @type {string[]} */ command, more = {}, onLine = (/** @type {string} */ _line) => {}) => {
      const [program_, args] = /** @type {[string, string[]]} */ (inFolder(command));
      return guarded(program_, args, { env: { ...env, ...more }, onLine });
    },
    async start() {
      let ready = false;
      const started = this.run(image.command, { LONGHAUL_AGENTS: agentsFile }, (line) => {
        if (line.startsWith('longhaul worker: agents clerk')) ready = true;
      });
      running = started;
      await until('the worker is ready', () => ready, 60_000, started);
    },
    async kill() {
      await running?.kill();
      running = undefined;
    },
    /** The executions of the thread's tools in order: tool and attempt. @param {string} threadId */
    journal: (threadId) =>
      fs
        .readFileSync(journal, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .filter((line) => line.threadId === threadId)
        .map(({ tool, attempt }) => `${tool} ${attempt}`),
  };
}

module.exports = { workerProcess };
