import { bounds } from '../../core/bounds';
import { LimitExceeded } from './limit-exceeded';
import { longestWords } from './safe-words';

/** Splits the bytes of a `text/event-stream` into the `data` of its events. Throws `LimitExceeded` if a line or an event is too long. */
export interface SseDecoder {
  push(bytes: Uint8Array): string[];
  /** Returns what was left without a closing blank line, because the server closed the connection right after `[DONE]`, or the stream was cut. */
  flush(): string[];
  /** The beginning of the text, for the error message if it was not an event stream. */
  head(): string;
  /** The beginning of the lines that belong to no event: some servers write errors there as plain text. */
  stray(): string;
}

/**
 * The SDK's decoder hides `[DONE]`, which distinguishes a complete answer from a truncated one, and prints what it can't parse, which must
 * stay out of the log. This decoder reads each character once, however the bytes are split.
 */
export function sseDecoder(): SseDecoder {
  // Streaming mode: a character may be split between two chunks.
  const utf8 = new TextDecoder();
  let head = '';
  /** The current line in pieces, joined when it ends. */
  let line: string[] = [];
  let lineChars = 0;
  let data: string[] = [];
  let dataChars = 0;
  let stray = '';
  /** The text so far ended in a CR; a following LF belongs to the same line break. */
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
    } else if (stray.length < longestWords && !/^(?::|(?:event|id|retry)(?::|$))/.test(whole)) stray += `${whole.slice(0, longestWords)}\n`;
  }

  function endEvent(events: string[]): void {
    if (data.length > 0) events.push(data.join('\n'));
    data = [];
    dataChars = 0;
  }

  function decode(text: string): string[] {
    if (text === '') return [];
    if (head.length < longestWords) head += text.slice(0, longestWords - head.length);
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
    stray: () => stray,
  };
}
