import type { HookName, HookReport } from './hooks';

export const defaultHookErrors = 3;

/**
 * Counts the errors of hooks in a row, by hook id: an error adds one, a success resets the count, and a hook that did not run keeps its count.
 * `disabled`: hooks with `max` errors or more, which no longer run. Removing its count enables a hook again.
 * Guards are never disabled and so are not counted: `approve:tool`, and hooks whose failure mode is `fail`.
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
