import { bytesOf } from './context/carry';
import { excerpt, isObject } from './json';
import type { Part } from './message';

export const maxMessageBytes = 1_500_000;

/** Why this can't be a message, or undefined. */
export function checkInput(input: unknown): string | undefined {
  if (typeof input === 'string') {
    if (input.trim() === '') return 'the input is empty: give a text, or parts with a text or an image';
  } else if (!Array.isArray(input)) {
    return `the input must be a text or a list of parts ({ type: "text", text } or { type: "image", url }); it is ${show(input)}`;
  } else {
    if (input.length === 0) return 'the input is empty: give a text, or parts with a text or an image';
    const wrong = input.map(checkPart).find((reason) => reason !== undefined);
    if (wrong) return wrong;
  }
  const bytes = bytesOf(input);
  return bytes > maxMessageBytes
    ? `the input has ${bytes} bytes; at most ${maxMessageBytes} fit into a message: store it where the agent's tools can read it and send a reference`
    : undefined;
}

function checkPart(part: unknown, i: number): string | undefined {
  const known = part as Part;
  if (!isObject(part)) return `part ${i} of the input must be an object; it is ${show(part)}`;
  if (known.type === 'text') return typeof known.text === 'string' ? undefined : `part ${i} of the input has no text`;
  if (known.type !== 'image') return `part ${i} of the input has the type ${show(part.type)}; known are "text" and "image"`;
  return typeof known.url === 'string' && /^(https?:\/\/|data:image\/)/.test(known.url)
    ? undefined
    : `part ${i} of the input is an image without a usable url (https: or data:image/…)`;
}

/** A value as it can stand in an error message. */
export function show(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // A circle or a bigint: not JSON, and still to be named.
  }
  return excerpt(text ?? String(value), 120);
}
