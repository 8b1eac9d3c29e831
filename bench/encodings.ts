import { type EncodingOptions, keysFromText } from '../src/client';

/** The same key in every process of a bench. It protects nothing. */
const keys = keysFromText(Buffer.alloc(32, 'bench').toString('base64'));

export const encodings = {
  plain: {},
  compressed: { compression: true },
  encrypted: { keys, compression: false },
  both: { keys },
} satisfies Record<string, EncodingOptions>;

export type EncodingName = keyof typeof encodings;
