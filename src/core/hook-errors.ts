import type { HookName, HookReport } from './hooks';

export const defaultHookErrors = 3;

/**
 * Counts the errors that hooks made in a row, by their ids: an error adds one, a success begins anew, and a hook that did not run keeps
 * its count. `disabled`: those that made `max` or more, which are left out from now on; without its count a hook is back.
 * Guards are not counted, because they are never left out: `approve:tool`, and hooks whose failure mode is `fail`.
 */
export function countErrors(
  before: Readonly<Record<string, number>>,
  reports: readonly HookReport[],
  max = defaultHookErrors,
  hook?: HookName,
): { errors: Record<string, number>; disabled: string[] } {
  const errors = { ...before };
  for (const { id, error, mode } of hook === 'approve:tool' ? [] : reports) {
    if (error === undefined) delete errors[id];
    else if (mode !== 'fail') errors[id] = (Object.hasOwn(errors, id) ? (errors[id] ?? 0) : 0) + 1;
  }
  return { errors, disabled: Object.keys(errors).filter((id) => (errors[id] ?? 0) >= max) };
}
