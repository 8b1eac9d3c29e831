/**
 * Uses an agent thread without the `longhaul` package: with Temporal's own client, plain JSON, and names as strings. The same works from Temporal's
 * SDK in any language, and from the `temporal` command line.
 *
 * The worker has an agent `assistant` with a tool `ask_customer` that is executed outside. `longhaul worker --agents FILE` runs one.
 */
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

interface Event {
  seq: number;
  type: string;
  data: Record<string, unknown>;
}
interface Page {
  events: Event[];
  next: number;
  more: boolean;
}
interface Pending {
  kind: 'approval' | 'output';
  toolCallId: string;
  name: string;
  arguments: string;
}

export async function main({ taskQueue = 'longhaul', print = console.log } = {}): Promise<string> {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await Connection.connect(connectionOptions);
  const { workflow } = new Client({ connection, namespace: namespace ?? 'default' });
  try {
    const started = await workflow.start('agentThread', {
      workflowId: `bare-${Date.now()}`,
      taskQueue,
      args: [{ agent: 'assistant', input: 'Ask the customer for the colour, then order the paint.' }],
    });
    const thread = workflow.getHandle(started.workflowId);

    // Events are numbered from 1 without gaps: query again from the next number on, as often as you like.
    for (let next = 1, over = false; !over; ) {
      const page = await thread.query<Page, [{ from: number }]>('events', { from: next });
      for (const event of page.events) {
        print(`${event.seq} ${event.type}`);
        over ||= /^thread\.run\.(completed|failed|incomplete|cancelled)$/.test(event.type);
        if (event.type === 'thread.run.requires_action') await answer(thread, event.data.pending as Pending[]);
      }
      next = page.next;
      if (!page.more && !over) await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const { status, output } = (await thread.result()) as { status: string; output: string };
    print(`${status}: ${output}`);

    await startAndCancel(workflow, taskQueue, print);
    return output;
  } finally {
    await connection.close();
  }
}

/** Signals return nothing: an invalid one becomes the event `agent.request.rejected`. The update of the same name returns a receipt. */
async function answer(thread: { signal(name: string, ...args: unknown[]): Promise<void> }, pending: Pending[]): Promise<void> {
  const outputs = pending.map(({ toolCallId }) => ({ toolCallId, output: { colour: 'ultramarine' } }));
  await thread.signal('submitToolOutputs', { outputs });
}

async function startAndCancel(workflow: Client['workflow'], taskQueue: string, print: (line: string) => void): Promise<void> {
  const thread = await workflow.start('agentThread', {
    workflowId: `bare-cancelled-${Date.now()}`,
    taskQueue,
    args: [{ agent: 'assistant', input: 'Ask the customer for the colour, then order the paint.' }],
  });
  await thread.signal('cancel', { reason: 'The customer left', by: 'bare-client' });
  await thread.result().catch((error: Error & { cause?: Error }) => print(`cancelled: ${error.cause?.message ?? error.message}`));
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
}
