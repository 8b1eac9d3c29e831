import { maxImageBytes, maxOutputBytes } from '../running/output-cap';
import type { ImageHeader } from './image-header';

/** What providers accept. A larger image would make them reject each later request, because it is in the transcript. */
const mostPixels = 8_000;
const mostBytes = 3_500_000;
/** An image that is not stored must fit into the result as base64. */
const mostBytesInHistory = Math.floor((maxImageBytes * 3) / 4) - 1_024;

/** Why an image can't be shown to a model; `undefined` if it can. `resultBytes`: how much of a result is kept. */
export function imageProblem(
  { mediaType, width, height, isComplete }: ImageHeader,
  bytes: number,
  resultBytes: number,
): string | undefined {
  const convert = 'with a program such as ImageMagick in the shell, and view the result';
  if (mediaType === 'image/bmp')
    return `is a BMP image (${width}x${height} pixels), which models do not take. Convert it to PNG ${convert}.`;
  if (!isComplete || width < 1 || height < 1) return 'is a damaged image: its end is missing, or a part of it is not whole.';
  if (width > mostPixels || height > mostPixels) {
    return `has ${width}x${height} pixels; models take at most ${mostPixels} on a side. Scale it down to 2048x768 ${convert}.`;
  }
  const most = mostFileBytes(resultBytes);
  return bytes > most ? `has ${bytes} bytes; at most ${most} can be shown. Scale it down to 2048x768 ${convert}.` : undefined;
}

/** The most bytes of an image or another file that the model sees as such. */
export function mostFileBytes(resultBytes: number): number {
  return resultBytes > maxOutputBytes ? mostBytes : mostBytesInHistory;
}
