import type { Content, Message } from '../message';
import { charactersOf } from '../waste';

/** What each message costs in addition to its text. */
export const tokensPerMessage = 4;
/** An image or a file. Providers count these by size, which is not known here. */
export const tokensPerImage = 1_000;
/** For a model that has not answered yet. */
export const defaultCharsPerToken = 4;

/**
 * Estimates the tokens of messages from the lengths of their texts, which takes the same time for a long text as for a short one.
 * `charsPerToken` is recorded with each answer: it follows from what the provider counted.
 */
export function tokensOf(messages: readonly Message[], charsPerToken: number = defaultCharsPerToken): number {
  return Math.ceil(charactersOf(messages) / charsPerToken) + fixedTokensOf(messages);
}

/** The part of the estimate that does not depend on texts: messages, images and files. */
export function fixedTokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensPerMessage + tokensPerImage * imagesIn(message), 0);
}

function imagesIn(message: Message): number {
  const content: Content | readonly { type: string }[] = message.content;
  if (typeof content === 'string') return 0;
  let images = 0;
  for (const { type } of content) if (type === 'image' || type === 'file') images += 1;
  return images;
}
