#!/usr/bin/env node
// @ts-check
'use strict';

// `npm run test:stack`: runs the services of docker-compose.yml natively, and kills them while an agent runs. PostgreSQL comes from the system's
// package, the Temporal server is built with Go into the user's cache (once, which takes minutes), and the worker runs from the files that the
// Dockerfile would put into its image. Prints a line for each check, and `N passed, N failed` at the end. Removes everything that it created.

const fs = require('node:fs');
const { installDependencies } = require('./install');

async function main() {
  installDependencies();
  // These need the dependencies, so they are loaded after the installation.
  const { createChecks, StackNotUp } = require('./stack/checks');
  const checks = createChecks();
  // Ignore a server or a provider that is set in the caller's environment.
  for (const name of Object.keys(process.env)) if (/^(TEMPORAL_(?!CLI_PATH)|LONGHAUL_|OPENAI_)/.test(name)) delete process.env[name];
  try {
    await run(checks);
  } catch (error) {
    if (!(error instanceof StackNotUp)) await checks.check('the stack could be run', () => Promise.reject(error));
  } finally {
    await cleanedUp();
  }
  if (interrupted) return;
  const { passed, failed } = checks.counts();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

/** @param {ReturnType<typeof import('./stack/checks').createChecks>} checks */
async function run(checks) {
  const { temporalStack } = require('./stack/temporal-stack');
  const { imageFolder } = require('./stack/image-folder');
  const { agentScenario } = require('./stack/agent-scenario');
  const { check, must } = checks;

  const stack = await temporalStack((line) => console.log(line));
  cleanUp.push(() => stack.stop());
  console.log(`Temporal server ${stack.version} on ${stack.postgres.version}`);

  await must('PostgreSQL is created and starts', async () => {
    stack.postgres.create();
    await stack.postgres.start();
  });
  await must('the schema is set up, and a second time changes nothing', async () => {
    await stack.setupSchema();
    await stack.setupSchema();
  });
  await check('the server knows every setting of deploy/dynamic-config.yaml', async () => {
    const said = await stack.validateDynamicConfig();
    if (/error|warning/i.test(said)) throw new Error(said);
  });
  await must('the server starts with the environment of the compose file and passes its health check', () => stack.startServer());
  await must('the namespace and the search attributes are set up, and a second time changes nothing', async () => {
    await stack.setupNamespace();
    await stack.setupNamespace();
  });

  /** @type {ReturnType<typeof imageFolder> | undefined} */
  let image;
  await must('the content of the image is created: the build, and only production dependencies', () => {
    image = imageFolder();
    const { folder } = image;
    cleanUp.push(() => fs.rmSync(folder, { recursive: true, force: true }));
  });
  if (image) await agentScenario(checks, stack, image);
}

/** @type {(() => unknown)[]} */
const cleanUp = [];
/** @type {Promise<void> | undefined} */
let cleaning;
function cleanedUp() {
  cleaning ??= (async () => {
    for (const step of cleanUp.reverse()) await step();
  })();
  return cleaning;
}

let interrupted = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.once(signal, () => {
    interrupted = true;
    void cleanedUp().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  });
}

void main();
