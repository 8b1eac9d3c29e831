export interface TemporalOptions {
  /** Also serve the Web UI. */
  ui?: boolean;
  /** The database file, which survives SIGKILL of the server. Default: in memory. */
  dbFilename?: string;
  /** Server settings by key, as JSON values; they override `dynamicConfig`. */
  dynamicConfig?: Record<string, unknown>;
  /** Search attributes in addition to `searchAttributes`: name to type, as in `--search-attribute`. An existing database file keeps its own. */
  searchAttributes?: Record<string, string>;
  /** Default: a free port. */
  port?: number;
  uiPort?: number;
  /** Publish the server's request metrics at `metricsUrl`. */
  metrics?: boolean;
  /** Start a server even if TEMPORAL_ADDRESS names one. */
  own?: boolean;
  /** Receives messages about slow operations (a download, a build). */
  log?: (line: string) => void;
}

/** How a server ended; `output` is the last 8,000 characters of its output. */
export interface Ended {
  code: number | null;
  signal: string | null;
  output: string;
}

export interface TemporalServer {
  /** `host:port` for clients and workers. */
  address: string;
  namespace: string;
  /** False if TEMPORAL_ADDRESS names the server: then `stop` and `kill` do nothing. */
  ownServer: boolean;
  /** Without a trailing slash. */
  uiUrl?: string;
  /** The address of the server's request metrics, in Prometheus format. */
  metricsUrl?: string;
  /** The path of the `temporal` program. Only for servers that were started here, as is `pid`. */
  binary?: string;
  pid?: number;
  /** Resolves when the server has ended, for any reason. Only for servers that were started here. */
  ended?: Promise<Ended>;
  /** Ends the server; resolves when all its processes have exited. */
  stop(): Promise<void>;
  /** Sends SIGKILL without waiting, for tests of a crashed server. */
  kill(): void;
}

/**
 * Finds a server or the program to start one. Tries, in this order: TEMPORAL_ADDRESS, TEMPORAL_CLI_PATH, `temporal` on the PATH, the user's
 * cache, the SDK's download, a build with Go. Rejects with a message that names all of these.
 */
export function resolveTemporal(
  options?: Pick<TemporalOptions, 'own' | 'log'>,
): Promise<{ kind: 'address'; address: string } | { kind: 'binary'; path: string }>;

/** Resolves when the Temporal server is ready. One that was started here ends with this process, even after SIGKILL, and does not keep it alive. */
export function startTemporal(options?: TemporalOptions): Promise<TemporalServer>;

/** The search attributes that the engine sets if they are registered; name to type. */
export const searchAttributes: Record<string, string>;

/** Settings by key of every server that is started here; deploy/dynamic-config.yaml has the same. */
export const dynamicConfig: Record<string, number | boolean | string | string[]>;
