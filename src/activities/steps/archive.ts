import type { Artifacts } from '../../artifacts';
import { transcriptText } from '../../core/context/summary';
import type { Message } from '../../core/message';
import type { Toolbox } from '../../tools/running/toolbox';

/** Stores the text of messages that leave the transcript, if the model has the tools to read it. Returns its reference. */
export async function archive(
  artifacts: Artifacts | undefined,
  toolbox: Toolbox,
  messages: readonly Message[],
  threadId: string,
): Promise<string | undefined> {
  if (!artifacts || !toolbox.get('read_output')) return undefined;
  return (await artifacts.keep(threadId, Buffer.from(transcriptText(messages)), 'text/plain'))?.id;
}
