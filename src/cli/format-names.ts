/** In whose words events can be printed as JSON lines. Apart from what makes them, so that `--help` needs none of it. */
export const formatNames = ['longhaul', 'agentb', 'baseagent', 'oneringai', 'codelia'] as const;
export type Format = (typeof formatNames)[number];

export interface FormatOptions {
  format?: Format;
  /** The same as `longhaul`. */
  json?: boolean;
}

/** Undefined: text for people. */
export function formatOf({ format, json }: FormatOptions): Format | undefined {
  return format ?? (json ? 'longhaul' : undefined);
}
