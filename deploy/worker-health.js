#!/usr/bin/env node
'use strict';

// Exits with 0 if a live worker process of this host has polled the task queue recently. It asks the server, not the worker, so that it also
// detects a worker that is up but has the wrong address, namespace or queue, or has stopped polling.

const os = require('node:os');
const { Client, Connection } = require('@temporalio/client');
const { loadClientConnectConfig } = require('@temporalio/envconfig');

const taskQueue = process.env.LONGHAUL_TASK_QUEUE || 'longhaul';
// A poll without a task lasts a minute.
const freshMs = 90_000;

/** Temporal's worker identity is `PID@HOST`. The server reports a process's polls for minutes after it has died. @param {string} identity */
function isAliveHere(identity) {
  const [, pid, host] = /^(\d+)@(.*)$/.exec(identity) ?? [];
  if (host !== os.hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

async function main() {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: 5_000 });
  try {
    const client = new Client({ connection, namespace });
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: 'TASK_QUEUE_TYPE_WORKFLOW',
    });
    const here = pollers.filter(({ identity }) => isAliveHere(identity ?? ''));
    if (here.some(({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1_000 < freshMs)) return;
    const others = pollers.map(({ identity }) => identity).join(', ') || 'nobody';
    throw new Error(
      `no worker process on ${os.hostname()} polls the task queue ${taskQueue} in the namespace ${namespace} (polling: ${others})`,
    );
  } finally {
    await connection.close();
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
