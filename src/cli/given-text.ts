import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { UsageError } from './exit';

/** A text of the command line, or of standard input where it is `-`; `what` it is for errors. */
export async function givenText(words: string, what: string): Promise<string> {
  const text = words === '-' ? await standardInput() : words;
  // Mostly a variable of a script that nobody has set.
  if (text.trim() === '') throw new UsageError(`${what} is blank; nothing was sent`);
  return text;
}

async function standardInput(): Promise<string> {
  const bytes = await buffer(process.stdin);
  if (!isUtf8(bytes)) {
    throw new UsageError(
      'standard input is not UTF-8; convert it (iconv -t UTF-8), or put it where the tools of the agent can read it and send its name',
    );
  }
  // Without the mark that some programs begin UTF-8 with.
  return new TextDecoder().decode(bytes);
}
