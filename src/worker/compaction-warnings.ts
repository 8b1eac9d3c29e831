import type { Agent } from '../agents/define-agent';
import type { Models } from '../models/registry';

/** Says for which models of agents with `compaction: 'provider'` the engine compacts, because their provider can't. */
export function compactionWarnings(agents: readonly Agent[], models: Models): string[] {
  return agents.flatMap(({ name, model, fallbackModels, context }) => {
    if (context?.compaction !== 'provider') return [];
    const others = [model, ...fallbackModels].filter((one) => !compacts(one, models));
    if (others.length === 0) return [];
    return `Agent '${name}' leaves compaction to the provider (context.compaction), but the provider of ${others.join(', ')} does not compact; the engine does.`;
  });
}

function compacts(name: string, models: Models): boolean {
  try {
    const { provider, model } = models.resolve(name);
    return provider.compactsFrom?.(model) !== undefined;
  } catch {
    // The model call reports an unknown name.
    return true;
  }
}
