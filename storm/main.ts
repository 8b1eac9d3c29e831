import { rmSync } from 'node:fs';
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { aftermath } from './aftermath';
import { judge } from './check/judge';
import { orphans } from './check/processes';
import { commandOf, type Options, readOptions, WrongOption } from './options';
import { makePlan } from './plan';
import { report } from './report';
import { startRig } from './rig';
import { strike } from './strike';

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const plan = makePlan(options);
  const command = commandOf(options);
  console.log(
    `${command}\nplan ${plan.digest}: ${plan.threads.length} threads, ${plan.faults.length} faults, continue as new after ${plan.events} events${plan.encrypted ? ', encrypted' : ''}`,
  );
  if (options.plan) {
    for (const fault of plan.faults) console.log(JSON.stringify(fault));
    for (const thread of plan.threads) console.log(JSON.stringify(thread));
    return;
  }
  const broken = await storm(options, plan);
  if (broken > 0) console.error(`\n${broken} violations. To run the same storm again: ${command}`);
  process.exit(broken > 0 ? 1 : 0);
}

async function storm(options: Options, plan: ReturnType<typeof makePlan>): Promise<number> {
  const filter = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
  Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging: { filter } } });
  const began = Date.now();
  const log = (line: string) => console.log(`[${((Date.now() - began) / 1_000).toFixed(1)} s] ${line}`);
  const rig = await startRig(plan, options.kills, log);
  try {
    log(`started; all files are in ${rig.folder}, which is removed if no guarantee was violated`);
    await strike(rig, plan.faults, options.minutes * 60_000, log);
    const { evidence, counts, violations: seen, keep } = await aftermath(rig, plan, log);
    await rig.stop();
    const violations = [...seen, ...judge(evidence), ...orphans(rig.folder)];
    keep(violations);
    console.log(`\n${report(counts, violations, commandOf(options))}\n`);
    for (const { rule, thread, what } of violations.slice(0, 60)) console.log(`${rule}: ${thread} ${what}`);
    if (violations.length === 0) rmSync(rig.folder, { recursive: true, force: true });
    else console.log(`\nHistories and logs of these threads: ${rig.folder}/broken`);
    return violations.length;
  } finally {
    await rig.stop();
  }
}

main().catch((error: Error) => {
  console.error(error instanceof WrongOption ? error.message : (error.stack ?? error.message));
  process.exit(1);
});
