import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Contender, startRig } from './rig';

/**
 * Shows where a worker's JavaScript spends its time: `npx tsx bench/profile.ts [longhaul|floor|naive] [turns] [sessions]`.
 * Prints the functions that take the most time, and keeps the profiles (main thread and workflow thread) in bench/results for a viewer.
 */
async function main(): Promise<void> {
  const contender = (process.argv[2] ?? 'longhaul') as Contender;
  const turns = Number(process.argv[3] ?? 200);
  const sessions = Number(process.argv[4] ?? 1);
  const folder = join(__dirname, 'results', `profile-${contender}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const rig = await startRig();
  try {
    const worker = await rig.startWorker(contender, {
      nodeOptions: ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=500'],
    });
    await worker.finish({ turns: 40 });
    const before = await worker.spent();
    const begun = performance.now();
    await Promise.all(Array.from({ length: sessions }, () => worker.finish({ turns })));
    const after = await worker.spent();
    const lastedMs = performance.now() - begun;
    console.log(`${contender}: ${((after.cpuMs - before.cpuMs) / turns / sessions).toFixed(1)} ms of worker CPU a turn, while profiled`);
    await worker.exit();
    for (const file of readdirSync(folder)) print(join(folder, file), turns * sessions, lastedMs);
  } finally {
    await rig.stop();
  }
}

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

function print(file: string, turns: number, lastedMs: number): void {
  const { nodes, samples, timeDeltas }: Profile = JSON.parse(readFileSync(file, 'utf8'));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const own = new Map<number, number>();
  // Count only the end; the beginning is start and warm-up.
  let left = lastedMs * 1_000;
  for (let i = samples.length - 1; i >= 0 && left > 0; i--) {
    own.set(samples[i] ?? 0, (own.get(samples[i] ?? 0) ?? 0) + (timeDeltas[i] ?? 0));
    left -= timeDeltas[i] ?? 0;
  }
  const busy = [...own].reduce(
    (sum, [id, time]) => sum + (/^\((idle|root)\)$/.test(byId.get(id)?.callFrame.functionName ?? '') ? 0 : time),
    0,
  );
  console.log(`\n${file.split('/').at(-1)}: busy ${Math.round(busy / turns)} µs a turn`);
  const total = new Map<string, { own: number; all: number }>();
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (!node) return 0;
    const { functionName, url, lineNumber } = node.callFrame;
    const name = `${functionName || '(anonymous)'} ${url.split('/').slice(-3).join('/')}:${lineNumber + 1}`;
    const mine = own.get(id) ?? 0;
    const below = new Set(above).add(name);
    const all = (node.children ?? []).reduce((sum, child) => sum + visit(child, below), mine);
    const sum = total.get(name) ?? { own: 0, all: 0 };
    sum.own += mine;
    // In a recursion count only the outermost call.
    if (!above.has(name)) sum.all += all;
    total.set(name, sum);
    return all;
  };
  const root = nodes[0];
  if (root) visit(root.id, new Set());
  const show = (title: string, key: 'own' | 'all') => {
    console.log(`\n${title}, µs a turn`);
    const heaviest = [...total].filter(([name]) => !name.startsWith('(idle)')).sort((a, b) => b[1][key] - a[1][key]);
    for (const [name, sum] of heaviest.slice(0, 45)) console.log(`${String(Math.round(sum[key] / turns)).padStart(8)}  ${name}`);
  };
  show('Own time', 'own');
  show('With what it calls', 'all');
}

main().catch((error: Error) => {
  console.error(error);
  process.exitCode = 1;
});
