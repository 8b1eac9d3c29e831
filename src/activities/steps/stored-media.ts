import type { Artifacts } from '../../artifacts';
import { parseArtifactUrl } from '../../core/artifact-url';
import { bounds } from '../../core/bounds';
import type { Content, FilePart, ImagePart, Message, Part } from '../../core/message';
import { messageOfThrown } from '../../core/thrown';

/**
 * Replaces images and files that are in the store by their content, for one model call. The newest come first; those that no longer fit into
 * the request, or can't be read, become a text that says so. Messages without stored parts are returned as they are.
 */
export async function withStoredMedia(messages: readonly Message[], threadId: string, artifacts?: Artifacts): Promise<Message[]> {
  const inlined = [...messages];
  let room: number = bounds.requestMediaBytes;
  const inline = async (part: Part): Promise<Part> => {
    const stored = part.type === 'text' ? undefined : parseArtifactUrl(part.url);
    if (part.type === 'text' || !stored) return part;
    if (room <= 0) return notShown(part, 'with the newer ones, it does not fit into one request');
    if (!artifacts) return notShown(part, 'the worker that called the model has no artifact store');
    try {
      const bytes = await artifacts.read(threadId, stored.id);
      room -= bytes.length;
      if (room < 0) return notShown(part, 'with the newer ones, it does not fit into one request');
      return { ...part, url: `data:${stored.mediaType};base64,${bytes.toString('base64')}` };
    } catch (error) {
      return notShown(part, messageOfThrown(error));
    }
  };
  for (let at = inlined.length - 1; at >= 0; at--) {
    const message = inlined[at];
    if (!message || message.role === 'assistant' || !hasStoredParts(message.content)) continue;
    const content: Part[] = [];
    for (const part of message.content.toReversed()) content.unshift(await inline(part));
    inlined[at] = { ...message, content };
  }
  return inlined;
}

/**
 * The messages with a text in place of each image and file that `why` gives a reason for. Undefined if there is none, apart from those in answers.
 */
export function withoutMedia(messages: readonly Message[], why: (part: ImagePart | FilePart) => string | undefined): Message[] | undefined {
  let found = false;
  const replaced = messages.map((message) => {
    if (message.role === 'assistant' || typeof message.content === 'string') return message;
    const content = message.content.map((part) => {
      const reason = part.type === 'text' ? undefined : why(part);
      return part.type === 'text' || reason === undefined ? part : notShown(part, reason);
    });
    if (content.every((part, at) => part === message.content[at])) return message;
    found = true;
    return { ...message, content };
  });
  return found ? replaced : undefined;
}

function hasStoredParts(content: Content): content is Part[] {
  return typeof content !== 'string' && content.some((part) => part.type !== 'text' && parseArtifactUrl(part.url) !== undefined);
}

function notShown({ type }: ImagePart | FilePart, why: string): Part {
  return { type: 'text', text: `[${type} not shown: ${why}]` };
}
