/** Cuts the bytes of a `text/event-stream` into the `data` of its events. */
export interface SseDecoder {
  push(bytes: Uint8Array): string[];
  /** What was left without its closing blank line. Servers that hang up right after `[DONE]` leave some; so does a stream that was cut. */
  flush(): string[];
  /** The beginning of the text, to show what came if it was no event stream. */
  head(): string;
}

const headLength = 2_000;

/**
 * The vendor's own decoder hides `[DONE]` and prints what it can't parse; we need the one to tell a complete answer from a cut one,
 * and the other kept out of the log.
 */
export function sseDecoder(): SseDecoder {
  // Streaming mode: a character may be split between two pieces.
  const utf8 = new TextDecoder();
  let head = '';
  let buffer = '';
  let data: string[] = [];

  function takeLine(line: string, events: string[]): void {
    if (line === '') {
      if (data.length > 0) events.push(data.join('\n'));
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
  }

  function takeLines(text: string, last: boolean): string[] {
    const events: string[] = [];
    buffer += text;
    let from = 0;
    for (const end of buffer.matchAll(/\r\n|\n|\r/g)) {
      // A lone CR at the very end may be the first half of a CRLF.
      if (!last && end[0] === '\r' && end.index + 1 === buffer.length) break;
      takeLine(buffer.slice(from, end.index), events);
      from = end.index + end[0].length;
    }
    buffer = buffer.slice(from);
    return events;
  }

  function decode(text: string, last: boolean): string[] {
    if (head.length < headLength) head += text.slice(0, headLength - head.length);
    return takeLines(text, last);
  }

  return {
    push: (bytes) => decode(utf8.decode(bytes, { stream: true }), false),
    flush: () => {
      const events = decode(utf8.decode(), true);
      takeLine(buffer, events);
      takeLine('', events);
      buffer = '';
      return events;
    },
    head: () => head,
  };
}
