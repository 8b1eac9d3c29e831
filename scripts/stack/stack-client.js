// @ts-check
'use strict';

const { Client, Connection } = require('@temporalio/client');
const { until } = require('./until');

/** @typedef {Awaited<ReturnType<typeof import('./temporal-stack').temporalStack>>} Stack */

/** Uses Longhaul's client for actions, and Temporal's own client for checks. @param {(file: string) => any} load @param {Stack} stack */
async function connect(load, { address, namespace }) {
  const { LonghaulClient } = load('client.js');
  const { replayThreads } = load('testing/index.js');
  const connection = await Connection.connect({ address });
  const temporal = new Client({ connection, namespace });
  const longhaul = await LonghaulClient.connect({ connection: { address }, namespace, taskQueue: 'longhaul' });
  /** @type {{ workflowId: string }[]} */
  const started = [];
  return {
    /** Starts a thread whose input is its id, so that the model can identify it. @param {string} id */
    async start(id) {
      const thread = await longhaul.start('clerk', id, { id });
      started.push({ workflowId: id });
      const pending = () =>
        until(`${id} waits for an approval`, async () => (await temporal.workflow.getHandle(id).query('pending'))[0], 60_000);
      return {
        waiting: pending,
        async approve() {
          const { toolCallId } = await pending();
          await thread.approve(toolCallId, { by: 'stack-test' });
        },
        output: async () => (await thread.result()).output,
      };
    },
    /** @param {string} id @returns {Promise<{ seq: number, type: string }[]>} */
    async events(id) {
      const events = [];
      for await (const event of longhaul.attach(id).events()) if (event.seq !== undefined) events.push(event);
      return events;
    },
    /** @param {string} query @param {string} id */
    async isListed(query, id) {
      for await (const { workflowId } of temporal.workflow.list({ query })) if (workflowId === id) return true;
      return false;
    },
    /** Replays every history of the started threads with the workflow code of the build. @param {string} keep folder for those that diverge */
    async replay(keep) {
      const { replayed, skipped, diverged } = await replayThreads({ client: longhaul, executions: started, keep });
      return { threads: started.length, replayed, problems: [...skipped, ...diverged] };
    },
    async close() {
      await longhaul.close();
      await connection.close();
    },
  };
}

module.exports = { connect };
