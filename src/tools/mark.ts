/** Whether a value carries a mark of ours. A proxy may refuse the question: then it is none of ours. */
export function hasMark(value: unknown, mark: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && mark in value;
  } catch {
    return false;
  }
}
