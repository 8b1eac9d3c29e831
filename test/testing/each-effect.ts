import type { CrashOptions, CrashReport } from '../../src/testing';
import { callTools, fail, type Reply, say } from '../../src/testing/model-server';
import { inPackage } from '../support/in-package';
import { sharedServer } from '../support/temporal';

type Testing = typeof import('../../src/testing');

/** The compiled package, whose worker processes need no compiler. */
export function compiledTesting(): Testing {
  return require(inPackage('dist/testing/index.js')) as Testing;
}

const calls = (name: string, ...ids: string[]): Reply => callTools(ids.map((id) => ({ name, args: { id }, id: `call_${name}_${id}` })));

/** Conversations with the agents of test/support/agents/each-effect.ts. */
export const scripts = {
  'each-effect': [
    calls('look', 'order', 'price'),
    calls('charge', 'order'),
    calls('mail', 'dana'),
    calls('transfer', 'rent'),
    calls('book', 'room', 'flight'),
    fail(400, { message: 'broken' }),
  ],
  'ignores-keys': [calls('charge', 'order'), say('Charged.')],
  asks: [calls('write', 'report'), say('Written.')],
  'fails-unknown': [calls('mail', 'dana'), say('Mailed.')],
} satisfies Record<string, Reply[]>;

export function crash(agent: keyof typeof scripts, options: Partial<CrashOptions> = {}): Promise<CrashReport> {
  const { address } = sharedServer();
  return compiledTesting().crashEverywhere(inPackage('agents/each-effect.js'), scripts[agent], {
    agent,
    input: 'Go.',
    address,
    ...options,
  });
}

/** Which compensations a run has made, in order. */
export function compensated({ run }: CrashReport['points'][number]): string[] {
  return run.effects.flatMap(({ what }) => (what.startsWith('cancelled ') ? [what] : []));
}
