import { createRequire } from 'node:module';

// The SDK's own conversion fails where npm keeps two copies of protobufjs, as it does here; so the SDK's message class is used directly.
const { temporal } = createRequire(require.resolve('@temporalio/client'))('@temporalio/proto');
const { History } = temporal.api.history.v1;

/** A history as a file: JSON with the field names of the protocol. */
export function toFile(history: unknown): string {
  const plain = History.toObject(History.fromObject(history), { longs: String, bytes: String, enums: String });
  return `${JSON.stringify(plain, withoutPlace)}\n`;
}

/** The place of the recording is removed, because it is private and not part of what happened. */
function withoutPlace(key: string, value: unknown): unknown {
  if (key === 'identity') return 'recorded';
  return key === 'stackTrace' ? undefined : value;
}

/** The run whose history, or a part of it, is in a file. */
export function nameOf(file: string): string {
  return file.replace(/(-\d+)?\.json$/, '');
}

/** For `Worker.runReplayHistories`; the class is not among the types of the packages that we depend on. */
export function fromFile(text: string): any {
  return History.fromObject(JSON.parse(text));
}
