import { maxImageBytes, maxOutputBytes } from '../running/output-cap';
import type { ImageHeader } from './image-header';

/** What providers accept. A larger image would make them reject each later request, because it is in the transcript. */
const mostPixels = 8_000;
const mostBytes = 3_500_000;
/** An image that is not stored must fit into the result as base64. */
const mostBytesInHistory = Math.floor((maxImageBytes * 3) / 4) - 1_024;

/** The size to which larger images are scaled. */
export const scaledTo = { maxWidth: 2_048, maxHeight: 768 };
/** Larger images are not decoded: a hundred megabytes of pixels, and as much again for the codec. */
const mostDecoded = 25_000_000;

/**
 * Whether an image can be shown to a model as it is, must be converted or scaled before, or can't be shown, and why. `resultBytes`: how much of a
 * result is kept.
 */
export function judgeImage(
  { mediaType, width, height, isComplete }: ImageHeader,
  bytes: number,
  resultBytes: number,
): 'fits' | 'scale' | { problem: string } {
  if (!isComplete || width < 1 || height < 1) return { problem: 'is a damaged image: its end is missing, or a part of it is not whole.' };
  const most = mostFileBytes(resultBytes);
  const isTooLarge = width > mostPixels || height > mostPixels || bytes > most;
  if (!isTooLarge && mediaType !== 'image/bmp') return 'fits';
  if (width * height <= mostDecoded) return 'scale';
  const limits = `models take at most ${mostPixels} pixels on a side, and ${most} bytes`;
  return {
    problem: `has ${width}x${height} pixels and ${bytes} bytes; ${limits}, and images of more than ${mostDecoded} pixels are not scaled. Scale it down to 2048x768 with a program such as ImageMagick in the shell, and view the result.`,
  };
}

/** The most bytes of an image or another file that the model sees as such. */
export function mostFileBytes(resultBytes: number): number {
  return resultBytes > maxOutputBytes ? mostBytes : mostBytesInHistory;
}
