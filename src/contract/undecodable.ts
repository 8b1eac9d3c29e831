const mark = '__longhaul_undecodable';

/**
 * What stands in for a payload that can't be decoded. A converter that throws would fail the workflow task again and again, and one
 * broken signal would wedge its thread for good; this value reaches the handler instead, which says what was wrong.
 */
export function undecodable(reason: string): object {
  return { [mark]: reason };
}

export function decodeFailureOf(value: unknown): string | undefined {
  const reason = (value as Record<string, unknown> | null | undefined)?.[mark];
  return typeof reason === 'string' ? reason : undefined;
}
