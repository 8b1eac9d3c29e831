import { cpuSecondsOf, watchOthers } from '../load';
import { median } from '../numbers';
import type { Contender, Rig } from '../rig';
import { type HistoryFacts, readHistory } from './history';

export interface PaceRound {
  contender: Contender;
  turns: number;
  /** Medians of turns 21 to 40, of the last 20, and of all turns, in milliseconds, from one request at the model server to the next. */
  early: number;
  late: number;
  all: number;
  /** CPU seconds of the worker per 1,000 turns: with one session, and with many concurrent ones. */
  cpuSingle: number;
  cpuMany?: number;
  serverCpuSingle: number;
  turnsPerSecond?: number;
  rssMb: number;
  othersPercent?: number;
}

export interface PacePlan {
  turns: number;
  sessions: number;
  turnsEach: number;
}

/** Warms up a new worker, and measures one long session, then many short concurrent ones. */
export async function measurePace(
  rig: Rig,
  contender: Contender,
  { turns, sessions, turnsEach }: PacePlan,
): Promise<{ round: PaceRound; history: () => Promise<HistoryFacts> }> {
  const worker = await rig.startWorker(contender);
  try {
    await worker.finish({ turns: 20 });
    const others = watchOthers([worker.pid, rig.modelPid, rig.server.pid]);
    const before = await worker.spent();
    const serverBefore = cpuSecondsOf(rig.server.pid);
    const id = await worker.finish({ turns });
    const after = await worker.spent();
    const serverCpu = cpuSecondsOf(rig.server.pid) - serverBefore;

    const times = (await rig.requests(id)).map((request) => request.at);
    const lasted = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    const round: PaceRound = {
      contender,
      turns: lasted.length,
      early: median(lasted.slice(20, 40)),
      late: median(lasted.slice(-20)),
      all: median(lasted),
      cpuSingle: (after.cpuMs - before.cpuMs) / lasted.length,
      serverCpuSingle: (serverCpu * 1_000) / lasted.length,
      rssMb: Math.round(after.rss / 1e6),
    };
    if (sessions > 0) {
      const begun = performance.now();
      await Promise.all(Array.from({ length: sessions }, () => worker.finish({ turns: turnsEach })));
      const count = sessions * turnsEach;
      const { cpuMs, rss } = await worker.spent();
      round.turnsPerSecond = count / ((performance.now() - begun) / 1_000);
      round.cpuMany = (cpuMs - after.cpuMs) / count;
      round.rssMb = Math.round(rss / 1e6);
    }
    const percent = others();
    if (percent !== undefined) round.othersPercent = percent;
    return { round, history: () => readHistory(rig.client, id) };
  } finally {
    await worker.kill();
  }
}
