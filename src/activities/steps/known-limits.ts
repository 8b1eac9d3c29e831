import type { ModelSettings } from '../../core/agent';
import type { FilePart, ImagePart, Message } from '../../core/message';
import type { ModelInfo } from '../../models/catalog/model-info';
import { ModelFailure } from '../../models/model';
import type { ResolvedModel } from '../../models/registry';
import { withoutMedia } from './stored-media';

/** The settings with a maximum length of answers that the model allows, because providers refuse requests that state more. */
export function withinLimit(settings: ModelSettings, { maxOutputTokens }: ModelInfo): ModelSettings {
  const { maxTokens } = settings;
  if (maxTokens === undefined || maxOutputTokens === undefined || maxTokens <= maxOutputTokens) return settings;
  return { ...settings, maxTokens: maxOutputTokens };
}

/** The messages with a text in place of images and PDF files, if the model is known not to read them. */
export function withoutUnreadable(messages: Message[], model: string, { capabilities }: ModelInfo): Message[] {
  if (capabilities.images !== false && capabilities.pdf !== false) return messages;
  const why = (part: ImagePart | FilePart) => {
    const kind = kindOf(part);
    return kind && capabilities[kind] === false ? `model '${model}' does not read ${words[kind]}` : undefined;
  };
  return withoutMedia(messages, why) ?? messages;
}

const words = { images: 'images', pdf: 'PDF files' };

/** Other files become text in most providers. */
function kindOf(part: ImagePart | FilePart): keyof typeof words | undefined {
  if (part.type === 'image' || part.mediaType.startsWith('image/')) return 'images';
  return part.mediaType.startsWith('application/pdf') ? 'pdf' : undefined;
}

/** Throws if the model is known not to take tools. */
export function mustTakeTools(agent: string, { model, providerName }: ResolvedModel, { capabilities, sources }: ModelInfo): void {
  if (capabilities.tools !== false) return;
  const name = `${providerName}/${model}`;
  throw new ModelFailure(
    'bad-request',
    `Agent '${agent}' has tools, and model '${name}' takes none (${sources.join(', ')}). Use another model. If it does take tools, say so in the file that LONGHAUL_MODELS names: ${JSON.stringify({ [name]: { capabilities: { tools: true } } })}`,
  );
}
