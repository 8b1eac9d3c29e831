import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { UsageError } from '../exit';

/** Returns a text of the command line, or standard input if it is `-`. `what` names the text in errors. */
export async function givenText(words: string, what: string): Promise<string> {
  const text = words === '-' ? await standardInput() : words;
  // It usually comes from a script's unset variable.
  if (text.trim() === '') throw new UsageError(`${what} is blank; nothing was sent`);
  return text;
}

async function standardInput(): Promise<string> {
  const bytes = await buffer(process.stdin);
  if (!isUtf8(bytes)) {
    throw new UsageError(
      'standard input is not UTF-8; convert it (iconv -t UTF-8), or store it where the tools of the agent can read it and send its name',
    );
  }
  // This also removes a byte order mark.
  return new TextDecoder().decode(bytes);
}
