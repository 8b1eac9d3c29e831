import { type Message, textOf, type UserMessage, withText } from '../message';
import { cutMiddle, isSummary, type Sizes } from './shorten';

/** A message that takes more than this share of the room leaves too little of it for everything else. */
const mostShare = 1 / 2;
/** What is left of such a message takes at most this share. */
const leftShare = 1 / 4;
/** Texts this short are not worth cutting. */
const shortText = 2_000;

/**
 * Whether the text of a message, other than an output of a tool, takes so much of the room that it must be cut if nothing else can be removed. Only
 * text counts, because nothing else is cut: a message that was cut is not long, so a thread that cuts until nothing is long comes to an end.
 */
export function isLong(message: Message, { room, charsPerToken }: Sizes, share: number = mostShare): boolean {
  if (message.role === 'tool' || isSummary(message)) return false;
  const { length } = textOf(message.content);
  return length > shortText && length / charsPerToken > room * share;
}

/** Leaves out the middle of the texts of a long message. `ref`: where the whole text is stored. Calls, images and files stay. */
export function cutMessage(message: Message, { room, charsPerToken }: Sizes, ref: string | undefined): Message {
  const most = Math.max(shortText / 2, Math.floor(room * leftShare * charsPerToken));
  const short = cutMiddle(textOf(message.content), most, ref);
  switch (message.role) {
    case 'tool':
      return message;
    case 'user':
      return { ...message, content: userContent(message, short) };
    case 'assistant':
      // The provider's other parts, such as signatures, are not valid for a text that was cut.
      return {
        ...message,
        content: withText(
          message.content.filter(({ type }) => type === 'tool-call'),
          short,
        ),
      };
  }
}

function userContent({ content }: UserMessage, text: string): UserMessage['content'] {
  return typeof content === 'string' ? text : [{ type: 'text', text }, ...content.filter(({ type }) => type !== 'text')];
}
