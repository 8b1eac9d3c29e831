import { bounds } from '../core/bounds';
import { LimitExceeded } from './limit-exceeded';

/** Cuts the bytes of a `text/event-stream` into the `data` of its events. Throws `LimitExceeded` where a line or an event does not end. */
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
 * and the other kept out of the log. Each character is looked at once, however the bytes are cut.
 */
export function sseDecoder(): SseDecoder {
  // Streaming mode: a character may be split between two pieces.
  const utf8 = new TextDecoder();
  let head = '';
  /** The line that has begun, in pieces: joined when it ends. */
  let line: string[] = [];
  let lineChars = 0;
  let data: string[] = [];
  let dataChars = 0;
  /** The text so far ended in a CR; an LF behind it belongs to the same line break. */
  let endedInCr = false;

  function add(piece: string): void {
    lineChars += piece.length;
    if (lineChars > bounds.eventChars) throw new LimitExceeded('a line of its stream', bounds.eventChars, 'characters');
    if (piece !== '') line.push(piece);
  }

  function endLine(events: string[]): void {
    const whole = line.join('');
    line = [];
    lineChars = 0;
    if (whole === '') endEvent(events);
    else if (whole.startsWith('data:')) {
      data.push(whole.slice(whole[5] === ' ' ? 6 : 5));
      dataChars += whole.length;
      if (dataChars > bounds.eventChars) throw new LimitExceeded('an event of its stream', bounds.eventChars, 'characters');
    }
  }

  function endEvent(events: string[]): void {
    if (data.length > 0) events.push(data.join('\n'));
    data = [];
    dataChars = 0;
  }

  function decode(text: string): string[] {
    if (text === '') return [];
    if (head.length < headLength) head += text.slice(0, headLength - head.length);
    const events: string[] = [];
    let from = endedInCr && text.startsWith('\n') ? 1 : 0;
    const lineBreak = /\r\n|\n|\r/g;
    lineBreak.lastIndex = from;
    for (let end = lineBreak.exec(text); end; end = lineBreak.exec(text)) {
      add(text.slice(from, end.index));
      endLine(events);
      from = lineBreak.lastIndex;
    }
    add(text.slice(from));
    endedInCr = text.endsWith('\r');
    return events;
  }

  return {
    push: (bytes) => decode(utf8.decode(bytes, { stream: true })),
    flush: () => {
      const events = decode(utf8.decode());
      endLine(events);
      endEvent(events);
      return events;
    },
    head: () => head,
  };
}
