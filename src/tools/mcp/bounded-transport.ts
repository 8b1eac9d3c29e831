import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import { bounds } from '../../core/bounds';
import { isObject } from '../../core/json';
import { Rate } from './rate';

/** A transport whose server can be ended at once. */
export interface EndableTransport extends Transport {
  /** Ends a server that does not keep to the limits, without waiting for it. */
  kill(): void;
}

/** Ends the connection to a server that exceeds a limit, before the SDK checks, answers or keeps what the server sent. */
export class BoundedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  /** Which limit the server exceeded; empty if none. */
  whyEnded = '';
  readonly #received = new Rate(bounds.mcpMessages);
  #openAnswers = 0;

  constructor(private readonly inner: EndableTransport) {
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => this.onerror?.(error);
    inner.onmessage = (message, extra) => {
      if (this.whyEnded !== '') return;
      const problem = this.#received.add() ? problemOf(message) : `it sent more than ${bounds.mcpMessages} messages within 10 s`;
      if (problem) this.end(problem);
      else this.onmessage?.(message, extra);
    };
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  get hasPerRequestStream(): boolean {
    return this.inner.hasPerRequestStream ?? false;
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    return this.inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('method' in message) return this.inner.send(message, options);
    this.#openAnswers += 1;
    if (this.#openAnswers > bounds.mcpOpenAnswers) this.end(`it has not taken ${bounds.mcpOpenAnswers} answers to its requests`);
    try {
      if (this.whyEnded !== '') throw new Error(this.whyEnded);
      await this.inner.send(message, options);
    } finally {
      this.#openAnswers -= 1;
    }
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  end(why: string): void {
    if (this.whyEnded !== '') return;
    this.whyEnded = why;
    this.inner.kill();
  }
}

/** Returns which limit a message exceeds, or undefined. */
function problemOf(message: JSONRPCMessage): string | undefined {
  if ('method' in message) {
    // The answer to a request repeats its id.
    const texts = [message.method, ...('id' in message ? [String(message.id)] : [])];
    if (texts.some(({ length }) => length > bounds.callIdChars)) {
      return `it sent a request whose method or id has more than ${bounds.callIdChars} characters`;
    }
  }
  return hasRoom(message, bounds.payloadDepth, { values: bounds.mcpCheckedValues })
    ? undefined
    : `it sent a message with more than ${bounds.mcpCheckedValues} values outside of schemas and structured content, or nested deeper than ${bounds.payloadDepth} levels`;
}

/** Fields with data of any shape: the SDK checks at most their names. */
const anyShape = ['structuredContent', 'inputSchema', 'outputSchema'];

function hasRoom(value: unknown, depth: number, left: { values: number }): boolean {
  left.values -= 1;
  if (left.values < 0) return false;
  if (typeof value !== 'object' || value === null) return true;
  if (depth <= 0) return false;
  if (!isObject(value)) return (value as unknown[]).every((item) => hasRoom(item, depth - 1, left));
  return Object.keys(value).every((key) =>
    hasRoom(value[key], depth - 1, anyShape.includes(key) ? { values: Number.POSITIVE_INFINITY } : left),
  );
}
