import type { Activities } from '../contract/activities';
import type { ActivityDependencies } from './dependencies';

/** Whether arguments that a person edited fit their tool. */
export function checkArguments({ agents }: ActivityDependencies): Activities['checkArguments'] {
  return async ({ agent, call }) => {
    const verdict = await agents.get(agent).toolbox.judge(call);
    return verdict.kind === 'reject' ? { error: verdict.error } : {};
  };
}
