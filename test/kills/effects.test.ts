import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callTools, fail, type Reply, say } from '../../src/testing/model-server';
import type { Entry } from '../support/agents/committed';
import { inPackage } from '../support/in-package';
import { startRig, startWorkerProcess, until } from '../support/rig';
import { ofType, scenes, story } from '../workflows/scenes';

const workspace = mkdtempSync(join(tmpdir(), 'longhaul-effects-'));
afterAll(() => rmSync(workspace, { recursive: true, force: true }));

const { script, scene } = scenes();
const pay = callTools([{ name: 'pay', args: { id: 'rent' }, id: 'call_pay' }]);
const book = (id: string) => callTools([{ name: 'book', args: { id }, id: `call_${id}` }]);

function entriesOf(thread: string): Entry[] {
  const file = join(workspace, 'service');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return lines.map((line) => JSON.parse(line) as Entry).filter((entry) => entry.thread === thread);
}

test('a worker killed in the middle of `verify` calls and of a compensation doubles nothing, and another completes them', async () => {
  const rig = await startRig({ script, agents: [], workers: 0 });
  const startWorker = () =>
    startWorkerProcess({
      address: rig.address,
      taskQueue: rig.taskQueue,
      agentsFile: inPackage('agents/committed.js'),
      modelUrl: rig.model.url,
      env: { LONGHAUL_WORKSPACE: workspace },
    });
  const first = await startWorker();
  const holds: string[] = [];
  const start = (at: string, ...turns: Reply[]) => {
    const id = `${at}-${Math.random().toString(36).slice(2, 10)}`;
    const hold = join(workspace, `hold-${id}-${at}`);
    writeFileSync(hold, '');
    holds.push(hold);
    return rig.client.start('committed', scene(turns), { id });
  };
  const before = await start('before', pay, say('Paid.'));
  const after = await start('after', pay, say('Paid.'));
  const undo = await start('undo-flight', book('flight'), book('hotel'), fail(400, { message: 'broken' }));
  await until(
    () =>
      [before, after, undo].map(({ id }) =>
        entriesOf(id)
          .map(({ what }) => what)
          .join(' '),
      ),
    (entries) => entries.join() === 'begun,begun paid,booked booked undone undone',
    60_000,
  );

  await first.kill();
  const killedAt = Date.now();
  await startWorker();
  for (const hold of holds) rmSync(hold);

  const undone = await story(undo);
  const tookOverMs = Date.now() - killedAt;
  expect(ofType(undone, 'agent.tool.compensation.completed').map(({ data }) => data.toolCallId)).toEqual(['call_hotel', 'call_flight']);
  expect(undone.at(-1)?.type).toBe('thread.run.failed');
  const again = entriesOf(undo.id).filter(({ what, id }) => what === 'undone' && id === 'flight');
  expect(again).toHaveLength(2);
  expect([new Set(again.map(({ key }) => key)).size, new Set(again.map(({ pid }) => pid)).size]).toEqual([1, 2]);
  expect(entriesOf(undo.id).filter(({ what, id }) => what === 'undone' && id === 'hotel')).toHaveLength(1);
  // The heartbeat timeout of a step that may run again, not the 60 s of one that must not.
  expect(tookOverMs).toBeLessThan(45_000);

  for (const thread of [before, after]) {
    const log = await story(thread);
    expect(ofType(log, 'agent.tool.execution.completed').map(({ data }) => [data.status, data.output])).toEqual([['success', 'paid rent']]);
    const entries = entriesOf(thread.id);
    expect(entries.filter(({ what }) => what === 'paid')).toHaveLength(1);
    expect(new Set(entries.map(({ key }) => key)).size).toBe(1);
  }
  // The probe found the payment of one; the other's was made by the second worker.
  expect(entriesOf(after.id).filter(({ what }) => what === 'begun')).toHaveLength(1);
  expect(entriesOf(before.id).filter(({ what }) => what === 'begun')).toHaveLength(2);
}, 240_000);
