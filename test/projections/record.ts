import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agent, replyTo, representativeRuns } from '../replay/representative-runs';
import { collect, startRig } from '../support/rig';

const folder = join(__dirname, 'recorded');
const names = [
  'words',
  'tools',
  'failure',
  'approvals',
  'outputs-by-signal',
  'cancelled-in-the-answer',
  'cancelled-at-rest',
  'conversation',
];

// Records real logs again, one event per line, including live events: npx jest --testMatch '**/test/projections/record.ts'.
test('the logs of representative runs are recorded', async () => {
  const { client } = await startRig({ script: replyTo, agents: [agent], bus: true });
  mkdirSync(folder, { recursive: true });
  for (const name of names) {
    const { act, mode } = representativeRuns[name] ?? {};
    const thread = await client.start(agent, name, { ...(mode && { mode }) });
    const reading = collect(thread.events());
    await act?.(thread);
    const live = await reading;
    // Following ends with the first run; a conversation is read again, whole.
    const events = mode ? await collect(thread.events({ live: false })) : live;
    writeFileSync(join(folder, `${name}.jsonl`), `${events.map((event) => JSON.stringify(event)).join('\n')}\n`);
  }
});
