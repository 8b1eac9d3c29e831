import { writeFileSync } from 'node:fs';
import { folderArtifacts } from '../../artifacts';
import type { Thread, WholeOutput } from '../../client';
import { readConfig } from '../../config';
import { textOf } from '../../core/message';
import { UsageError } from '../exit';
import { Styled, styled } from '../views/styled';
import { table } from '../views/table';
import { note, print, printJson } from '../views/terminal';
import { bytes } from '../views/words';
import { withClient } from './connect';
import { usualOutputs } from './data-folder';

/** Prints the whole output of a call, or writes it to a file. Without a call, lists the calls of the thread that have outputs. */
export async function output(threadId: string, call: string | undefined, { out }: { out?: string }): Promise<void> {
  // The same default as for the workers that are started in this folder.
  const store = readConfig().artifacts === undefined ? { artifacts: folderArtifacts({ path: usualOutputs() }) } : {};
  await withClient(store, async (client) => {
    const thread = client.attach(threadId);
    if (call === undefined) return listOutputs(thread);
    const { content } = await thread.output(call);
    if (out !== undefined) writeFileSync(out, exactly(content), { mode: 0o600 });
    else show(content);
  });
}

/** Parts are written as JSON. */
function exactly(content: WholeOutput['content']): string | Buffer {
  return typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content);
}

function show(content: WholeOutput['content']): void {
  if (typeof content === 'string') print(styled`${Styled.lines(content)}\n`);
  else if (!Buffer.isBuffer(content)) printJson(content);
  else throw new UsageError(`The output is ${bytes(content.length)} of binary data; write it to a file with --out FILE.`);
}

async function listOutputs(thread: Thread): Promise<void> {
  const rows = (await thread.messages({ archived: true })).flatMap((message) => {
    if (message.role !== 'tool') return [];
    const { toolCallId, name, content, outputRef } = message;
    const size = outputRef?.bytes ?? Buffer.byteLength(textOf(content));
    return [{ cells: [toolCallId, name, bytes(size), outputRef?.trimmed ? 'shortened' : ''] }];
  });
  if (rows.length === 0) return note(styled`No tool call of the thread has an output.`);
  print(table(['CALL', 'TOOL', 'SIZE', 'MODEL SAW'], rows, process.stdout.columns));
}
