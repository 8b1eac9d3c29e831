/** The formats of JSON lines. They are in a separate file so that `--help` does not load the projections. */
export const formatNames = ['longhaul', 'agentb', 'baseagent', 'oneringai', 'codelia'] as const;
export type Format = (typeof formatNames)[number];

export interface FormatOptions {
  format?: Format;
  /** The same as `format: 'longhaul'`. */
  json?: boolean;
}

/** The chosen format. Undefined means text for people. */
export function formatOf({ format, json }: FormatOptions): Format | undefined {
  return format ?? (json ? 'longhaul' : undefined);
}
