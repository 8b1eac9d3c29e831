import { type CompactingRequest, startCompactingServer } from '../support/compacting-server';
import { compile } from '../support/compile';
import { inPackage } from '../support/in-package';
import { startRig, startWorkerProcess, until, type WorkerProcess } from '../support/rig';
import { ofType, story } from '../workflows/scenes';

const files = ['one', 'two', 'three', 'four'];
const isCompacted = ({ body }: CompactingRequest) => /"compaction","?/.test(JSON.stringify(body.messages ?? body.input));

test.each([
  ['anthropic', 'when the answer with the compaction is sent'],
  ['anthropic', 'while the next call is under way'],
  ['openai-responses', 'when the answer with the compaction is sent'],
  ['openai-responses', 'while the next call is under way'],
])(
  '%s: a worker that is killed %s loses no compaction, and the thread goes on from it',
  async (agent, when) => {
    const atAnswer = when.startsWith('when');
    let kill: Promise<void> | undefined;
    let worker: WorkerProcess | undefined;
    const killOnce = () => {
      kill ??= worker?.kill();
    };
    const { url, requests } = await startCompactingServer(
      (request) => {
        const { body, vendor } = request;
        const read = vendor === 'anthropic' ? body.messages : body.input;
        const results = JSON.stringify(read).match(/content of (\w+)/g) ?? [];
        const next = files[results.length === 0 ? 0 : files.indexOf(results.at(-1)?.slice('content of '.length) ?? '') + 1];
        if (isCompacted(request) && !atAnswer && !kill) {
          killOnce();
          return 'hold';
        }
        if (next === undefined) return { says: 'done' };
        const compacts = next === 'three' ? { compacts: 'All of it.', inputTokens: 62_000 } : {};
        return { ...compacts, calls: { name: 'read', args: { name: next } } };
      },
      ({ n }) => {
        if (atAnswer && n === 2) killOnce();
      },
    );
    const rig = await startRig({ script: () => ({}) as never, agents: [], workers: 0 });
    const startWorker = () =>
      startWorkerProcess({
        address: rig.address,
        taskQueue: rig.taskQueue,
        agentsFile: inPackage('agents/compacting.js'),
        modelUrl: `${url}/v1`,
        env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'test' },
      });
    worker = await startWorker();
    const thread = await rig.client.start(agent, 'Read the files.');
    await until(() => kill !== undefined, Boolean);
    await kill;
    worker = await startWorker();
    const told = await story(thread);
    expect(told.at(-1)).toMatchObject({ type: 'thread.run.completed', data: { output: 'done', turns: 5 } });
    expect(ofType(told, 'thread.context.compacted')).toEqual([
      expect.objectContaining({ data: expect.objectContaining({ reason: 'window', droppedMessages: 4 }) }),
    ]);
    const after = requests.slice(requests.findIndex(isCompacted));
    expect(after.length).toBeGreaterThanOrEqual(2);
    for (const request of after) {
      expect(isCompacted(request)).toBe(true);
      expect(JSON.stringify(request.body)).not.toMatch(/content of (one|two)/);
    }
    expect(compile(new Map(after.map((request, i) => [`request-${i}.ts`, typed(request)])))).toBe('');
    await worker.kill();
  },
  300_000,
);

/** What the vendor's SDK takes for a request. */
const types: Record<string, string> = {
  anthropic: `import type { MessageCreateParamsStreaming as Body } from '@anthropic-ai/sdk/resources/beta/messages/messages';`,
  'openai-responses': `import type { ResponseCreateParamsStreaming as Body } from 'openai/resources/responses/responses';`,
};

function typed({ vendor, body }: CompactingRequest): string {
  return `${types[vendor]}\nexport const body: Body = ${JSON.stringify(body)};\n`;
}
