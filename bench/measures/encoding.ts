import { brotliCompressSync, constants, deflateSync } from 'node:zlib';
import type { Payload } from '@temporalio/common';
import { payloadCodecs } from '../../src/client';
import { type EncodingName, encodings } from '../encodings';
import { median } from '../numbers';
import type { Rig } from '../rig';

export interface Encoding {
  encoding: EncodingName;
  /** What the tool of each turn returns. */
  results: 'random words' | 'real text';
  turns: number;
  /** As the server reports it. */
  historyBytes: number;
  /** How much of that is the data of payloads. The rest is the same whatever the encoding. */
  payloadBytes: number;
  /** The median of the rounds' medians, and of their ratios to the plain one. */
  msATurn: number;
  timeOfPlain: number;
  /** CPU of the worker, in the same way. */
  cpuMsATurn: number;
  cpuOfPlain: number;
  /** The time to encode and to decode a payload of that history, on average of the fastest of five passes, in microseconds. */
  encodeUs: number;
  decodeUs: number;
  payloadsATurn: number;
  /** Of the plain encoding: what other compressors would make of the same history. */
  compressors: Compressor[];
}

export interface Compressor {
  name: string;
  /** The plain history, divided by one whose payloads were compressed so. */
  smallerBy: number;
  /** The time to compress a payload, on average, in microseconds. */
  compressUs: number;
}

/** Those of Node.js, from the quickest to the strongest. */
const compressors: Record<string, (data: Uint8Array) => Uint8Array> = {
  'zlib 6': (data) => deflateSync(data),
  'zlib 9': (data) => deflateSync(data, { level: 9 }),
  'brotli 5': (data) => brotli(data, 5),
  'brotli 10': (data) => brotli(data, 10),
  'brotli 11': (data) => brotli(data, 11),
};

function brotli(data: Uint8Array, quality: number): Uint8Array {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_MODE, BROTLI_MODE_TEXT, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT, [BROTLI_PARAM_SIZE_HINT]: data.length };
  return brotliCompressSync(data, { params });
}

const agents = { 'random words': 'bench', 'real text': 'bench-text' } as const;
const names = Object.keys(encodings) as EncodingName[];

/** Runs the same session with each encoding, several times in turn. */
export async function measureEncoding(rig: Rig, { turns, rounds }: { turns: number; rounds: number }): Promise<Encoding[]> {
  const measured: Encoding[] = [];
  for (const results of Object.keys(agents) as Encoding['results'][]) {
    const sessions = new Map<EncodingName, Session[]>(names.map((name) => [name, []]));
    for (let i = 0; i < rounds; i++) {
      for (let k = 0; k < names.length; k++) {
        const name = names[(i + k) % names.length] as EncodingName;
        sessions.get(name)?.push(await runSession(rig, name, results, turns));
      }
    }
    const plain = sessions.get('plain') ?? [];
    for (const [encoding, its] of sessions) {
      const value = (key: 'msATurn' | 'cpuMsATurn' | 'historyBytes') => median(its.map((one) => one[key]));
      const ofPlain = (key: 'msATurn' | 'cpuMsATurn') => median(its.map((one, i) => one[key] / (plain[i]?.[key] ?? Number.NaN)));
      measured.push({
        encoding,
        results,
        turns,
        historyBytes: value('historyBytes'),
        payloadBytes: median(its.map(({ payloads }) => payloads.reduce((sum, { data }) => sum + (data?.length ?? 0), 0))),
        msATurn: value('msATurn'),
        timeOfPlain: ofPlain('msATurn'),
        cpuMsATurn: value('cpuMsATurn'),
        cpuOfPlain: ofPlain('cpuMsATurn'),
        payloadsATurn: (plain[0]?.payloads.length ?? 0) / turns,
        compressors: encoding === 'plain' ? compare(its[0]) : [],
        ...(await costsOf(encoding, plain[0]?.payloads ?? [])),
      });
    }
  }
  return measured;
}

interface Session {
  msATurn: number;
  cpuMsATurn: number;
  historyBytes: number;
  payloads: Payload[];
}

async function runSession(rig: Rig, encoding: EncodingName, results: Encoding['results'], turns: number): Promise<Session> {
  const worker = await rig.startWorker('longhaul', { options: { encoding } });
  try {
    const options = { agent: agents[results] };
    await worker.finish({ turns: 20 }, options);
    const before = await worker.spent();
    const id = await worker.finish({ turns }, options);
    const after = await worker.spent();
    const times = (await rig.requests(id)).map(({ at }) => at);
    const execution = { workflowId: id };
    const { namespace } = rig.client.temporal.options;
    const { workflowExecutionInfo } = await rig.client.temporal.workflowService.describeWorkflowExecution({ namespace, execution });
    const { events } = await rig.client.temporal.workflow.getHandle(id).fetchHistory();
    return {
      msATurn: median(times.slice(1).map((at, i) => at - (times[i] ?? 0))),
      cpuMsATurn: (after.cpuMs - before.cpuMs) / turns,
      historyBytes: Number(workflowExecutionInfo?.historySizeBytes ?? 0),
      payloads: [...payloadsIn(events)],
    };
  } finally {
    await worker.kill();
  }
}

/** All payloads of a history but the search attributes, which are never encoded. */
function* payloadsIn(value: unknown): Generator<Payload> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if ('metadata' in value && 'data' in value) yield value as Payload;
  else for (const [name, part] of Object.entries(value)) if (name !== 'searchAttributes') yield* payloadsIn(part);
}

/** Compresses each payload on its own, and without a header, so that the result is the least that a codec with this compressor can reach. */
function compare(session: Session | undefined): Compressor[] {
  const plain = session?.payloads.flatMap(({ data }) => (data ? [data] : [])) ?? [];
  return Object.entries(compressors).map(([name, compress]) => {
    const began = performance.now();
    const saved = plain.reduce((sum, data) => sum + Math.max(0, data.length - compress(data).length), 0);
    const compressUs = ((performance.now() - began) * 1_000) / plain.length;
    const whole = session?.historyBytes ?? Number.NaN;
    return { name, smallerBy: whole / (whole - saved), compressUs };
  });
}

async function costsOf(encoding: EncodingName, payloads: Payload[]): Promise<{ encodeUs: number; decodeUs: number }> {
  const codecs = payloadCodecs(encodings[encoding]);
  const encodeUs: number[] = [];
  const decodeUs: number[] = [];
  for (let i = 0; i < 5; i++) {
    const began = performance.now();
    const encoded: Payload[][] = [];
    for (const payload of payloads) {
      let done = [payload];
      for (const codec of codecs) done = await codec.encode(done);
      encoded.push(done);
    }
    const half = performance.now();
    for (let done of encoded) for (const codec of [...codecs].reverse()) done = await codec.decode(done);
    encodeUs.push(((half - began) * 1_000) / payloads.length);
    decodeUs.push(((performance.now() - half) * 1_000) / payloads.length);
  }
  // What else runs on the machine can only make a pass slower.
  return { encodeUs: Math.min(...encodeUs), decodeUs: Math.min(...decodeUs) };
}
