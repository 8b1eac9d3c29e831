/** Whether a value has one of our marks. A proxy may throw on the check; it then counts as unmarked. */
export function hasMark(value: unknown, mark: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && mark in value;
  } catch {
    return false;
  }
}
