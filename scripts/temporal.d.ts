export interface TemporalOptions {
  /** Also serve the Web UI. */
  ui?: boolean;
  /** Keeps everything in this file (survives SIGKILL of the server); in memory otherwise. */
  dbFilename?: string;
  /** Server settings by key, as JSON values; they win over ours. */
  dynamicConfig?: Record<string, unknown>;
  /** Beside ours. Type names as in `--search-attribute`. A file that exists already keeps the ones it was made with. */
  searchAttributes?: Record<string, string>;
  /** Free ones are found otherwise. */
  port?: number;
  uiPort?: number;
  /** Let it tell what it was asked, at `metricsUrl`. */
  metrics?: boolean;
  /** Start a server even where TEMPORAL_ADDRESS names one. */
  own?: boolean;
  /** Told about what takes long (a download, a build). */
  log?: (line: string) => void;
}

/** How a server ended; `output`: the last 8,000 characters that it wrote. */
export interface Ended {
  code: number | null;
  signal: string | null;
  output: string;
}

export interface TemporalServer {
  /** `host:port` for clients and workers. */
  address: string;
  namespace: string;
  /** False where TEMPORAL_ADDRESS named it: then `stop` and `kill` do nothing. */
  ownServer: boolean;
  /** Without a slash at the end. */
  uiUrl?: string;
  /** What it was asked, in Prometheus' format. */
  metricsUrl?: string;
  /** The `temporal` program that serves. Of our own servers. */
  binary?: string;
  pid?: number;
  /** Resolves when the server is gone, for whatever reason. Of our own servers. */
  ended?: Promise<Ended>;
  /** Resolves when the server is gone; nothing of it is left behind. */
  stop(): Promise<void>;
  /** SIGKILL, and no waiting: for tests of what a crashed server does. */
  kill(): void;
}

/**
 * TEMPORAL_ADDRESS → TEMPORAL_CLI_PATH → `temporal` on the PATH → the user's cache → the SDK's download → a build with Go.
 * Rejects with a message that names all of these.
 */
export function resolveTemporal(
  options?: Pick<TemporalOptions, 'own' | 'log'>,
): Promise<{ kind: 'address'; address: string } | { kind: 'binary'; path: string }>;

/** A Temporal server, ready for work. One that was started here dies with this process, however it ends, and does not keep it alive. */
export function startTemporal(options?: TemporalOptions): Promise<TemporalServer>;

/** Those that the engine fills where they are registered; name to type. */
export const searchAttributes: Record<string, string>;

/** Server settings by key that every server of ours gets; deploy/dynamic-config.yaml has the same. */
export const dynamicConfig: Record<string, number | boolean | string>;
