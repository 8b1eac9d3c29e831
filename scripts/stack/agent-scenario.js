// @ts-check
'use strict';

// Runs an agent on the native stack while its parts are killed one after another. The model is a scripted server on loopback that can hold an
// answer back; everything else is what the compose file would run.

const assert = require('node:assert/strict');
const os = require('node:os');
const path = require('node:path');
const { readCompose } = require('./compose');
const { final, scriptedModel } = require('./scripted-model');
const { connect } = require('./stack-client');
const { until } = require('./until');
const { workerProcess } = require('./worker-process');

/** @typedef {Awaited<ReturnType<typeof import('./temporal-stack').temporalStack>>} Stack */
/** @typedef {ReturnType<typeof import('./checks').createChecks>} Checks */

/** @param {Checks} checks @param {Stack} stack @param {{ folder: string, command: string[] }} image */
async function agentScenario({ check, must }, stack, image) {
  /** @param {string} file */
  const load = (file) => require(path.join(image.folder, 'dist', file));
  const model = await scriptedModel(load('testing/model-server.js'));
  const worker = workerProcess(stack, image, model.url);
  const client = await connect(load, stack);
  try {
    await must('the command of the image starts a worker, the health check finds it, and SIGTERM ends it gracefully', () =>
      ownCommand(worker, image),
    );
    await worker.start();

    await must('an agent calls tools, waits for an approval, and completes once it is given', async () => {
      const thread = await client.start('first');
      await thread.approve();
      assert.equal(await thread.output(), final);
      assert.deepEqual(worker.journal('first'), ['look 1', 'look 1', 'book 1', 'pay 1']);
    });
    await check('its events are numbered without gaps, and the last is the end of the run', async () => {
      const events = await client.events('first');
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, i) => i + 1),
      );
      assert.deepEqual(events.filter(({ type }) => /^thread\.run\.(completed|failed|cancelled|incomplete|expired)$/.test(type)).length, 1);
      assert.equal(events.at(-1)?.type, 'thread.run.completed');
    });
    await check('the search attributes that the setup registered find it', () =>
      until('the list has it', () => client.isListed("AgentName = 'clerk' AND AgentStatus = 'completed'", 'first'), 15_000),
    );

    // This thread waits for its approval during everything that follows.
    const patient = await client.start('patient');
    await patient.waiting();

    await check('SIGKILL of the worker in the middle of a model call: another worker continues, and no tool runs twice', () =>
      survives(client, worker, model, 'worker-killed', async () => {
        await worker.kill();
        await worker.start();
      }),
    );
    await check('SIGKILL of the Temporal server in the middle of a run: the run completes after the restart', () =>
      survives(client, worker, model, 'server-killed', async () => {
        await stack.killServer();
        await away(3_000);
        await stack.startServer();
      }),
    );
    await check('a crash of PostgreSQL in the middle of a run: the run completes after the recovery', () =>
      survives(client, worker, model, 'database-crashed', async () => {
        await stack.postgres.crash();
        await away(2_000);
        await stack.postgres.start();
      }),
    );
    await check('after a restart of all parts, with the worker last, a new run works', async () => {
      await worker.kill();
      await stack.killServer();
      await stack.postgres.stop();
      await stack.postgres.start();
      await stack.setupSchema();
      await stack.startServer();
      await stack.setupNamespace();
      await worker.start();
      const thread = await client.start('after-restart');
      await thread.approve();
      assert.equal(await thread.output(), final);
    });
    await check('a thread that waited for an approval all this time completes when it is given', async () => {
      await patient.approve();
      assert.equal(await patient.output(), final);
      assert.deepEqual(worker.journal('patient'), ['look 1', 'look 1', 'book 1', 'pay 1']);
    });
    // As at the end of `npm test`: replay makes the same decisions, so that no thread is stuck after a restart.
    await check('every history of all these threads replays', async () => {
      const { threads, replayed, problems } = await client.replay(path.join(os.tmpdir(), `longhaul-diverged-${Date.now()}`));
      assert.deepEqual(problems, []);
      assert.ok(replayed >= threads, `${replayed} histories of ${threads} threads were replayed`);
    });
  } finally {
    model.release();
    await worker.kill();
    await client.close();
    await model.stop();
  }
}

/** How long a part is down. The duration is part of the fault, not a wait for a condition. */
const away = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a run whose third answer, after both kinds of tools, is held back until `fault` has happened, and checks that it completes. */
async function survives(
  /** @type {any} */ client,
  /** @type {any} */ worker,
  /** @type {any} */ model,
  /** @type {string} */ name,
  /** @type {() => Promise<void>} */ fault,
) {
  model.hold(name, 2);
  const thread = await client.start(name);
  await until('the model is asked for its third answer', () => model.isHolding(), 30_000);
  await fault();
  model.release();
  await thread.approve();
  assert.equal(await thread.output(), final);
  assert.deepEqual(
    worker.journal(name).map((/** @type {string} */ line) => line.split(' ')[0]),
    ['look', 'look', 'book', 'pay'],
  );
}

/** Runs the image's command, and the health check of the compose file as Docker would inside the container. */
async function ownCommand(
  /** @type {ReturnType<typeof workerProcess>} */ worker,
  /** @type {{ folder: string, command: string[] }} */ image,
) {
  const { healthcheck, stop_grace_period } = readCompose().services.worker;
  const [, ...check] = healthcheck.test;
  const graceMs = Number.parseInt(stop_grace_period, 10) * 1_000;
  const healthy = async (/** @type {Record<string, string>} */ more = {}) => (await worker.run(check, more).ended).code === 0;
  const running = worker.run(image.command);
  await until('the health check passes', () => healthy(), 60_000, running);
  assert.equal(await healthy({ LONGHAUL_TASK_QUEUE: 'nobody-polls-this' }), false, 'the health check passes for a queue that nobody polls');
  const stopped = Date.now();
  process.kill(await running.pid, 'SIGTERM');
  const { code, signal, output } = await running.ended;
  assert.equal(code, 0, `SIGTERM ended it with ${signal ?? code}: ${output}`);
  assert.ok(Date.now() - stopped < graceMs, `it took longer than stop_grace_period (${stop_grace_period})`);
}

module.exports = { agentScenario };
