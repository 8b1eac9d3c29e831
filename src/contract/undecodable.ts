const mark = '__longhaul_undecodable';

/**
 * Returns a placeholder for a payload that can't be decoded. A converter that throws would fail the workflow task repeatedly, so one broken
 * signal would block its thread forever. The handler receives this value instead and reports the error.
 */
export function undecodable(reason: string): object {
  return { [mark]: reason };
}

export function decodeFailureOf(value: unknown): string | undefined {
  const reason = (value as Record<string, unknown> | null | undefined)?.[mark];
  return typeof reason === 'string' ? reason : undefined;
}
