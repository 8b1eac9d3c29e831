import type { Part } from '../../core/message';
import { imageHeader } from '../built-in/image-header';
import { judgeImage, mostFileBytes } from '../built-in/image-limits';

const images = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/**
 * An image or a PDF that providers accept: another would make them reject each later request of the thread. `resultBytes`: how much of a result is
 * kept.
 */
export function mediaPart(mediaType: string, bytes: Buffer, resultBytes: number): Part | undefined {
  const urlOf = (type: string) => `data:${type};base64,${bytes.toString('base64')}`;
  if (mediaType === 'application/pdf') {
    const isPdf = bytes.subarray(0, 1_024).includes('%PDF-') && bytes.subarray(-1_024).includes('%%EOF');
    return isPdf && bytes.length <= mostFileBytes(resultBytes) ? { type: 'file', url: urlOf(mediaType), mediaType } : undefined;
  }
  if (!images.includes(mediaType)) return undefined;
  const image = imageHeader(bytes);
  if (!image || judgeImage(image, bytes.length, resultBytes) !== 'fits') return undefined;
  return { type: 'image', url: urlOf(image.mediaType) };
}
