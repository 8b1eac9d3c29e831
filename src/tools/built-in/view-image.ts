import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { maxImageBytes, maxOutputBytes } from '../running/output-cap';
import { readBytes } from './file-text';
import { type ImageHeader, imageHeader } from './image-header';
import { openWorkspace, WorkspaceError } from './workspace';

/** What providers accept. A larger image would make them reject each later request, because it is in the transcript. */
const mostPixels = 8_000;
const mostBytes = 3_500_000;
/** An image that is not stored must fit into the result as base64. */
const mostBytesInHistory = Math.floor((maxImageBytes * 3) / 4) - 1_024;

/** Shows an image of the workspace to the model. */
export const viewImage = defineTool({
  name: 'view_image',
  description: 'Look at an image file (PNG, JPEG, GIF or WebP), such as a screenshot or a diagram.',
  input: z.object({
    path: z.string().min(1).describe('Relative to the workspace, or absolute inside it.'),
    detail: z.enum(['auto', 'low', 'high']).default('auto').describe('How closely to look; low costs less.'),
  }),
  effect: 'pure',
  async execute({ path, detail }, ctx) {
    const workspace = await openWorkspace(ctx.workspace);
    const real = await workspace.inside(path);
    const found = await readBytes(workspace, real, path);
    if (!found) throw new WorkspaceError(`'${path}' does not exist.`);
    const { bytes } = found;
    const image = imageHeader(bytes);
    if (!image) throw new WorkspaceError(`'${path}' is not an image in a known format (PNG, JPEG, GIF, WebP).`);
    const isStored = ctx.maxOutputBytes > maxOutputBytes;
    const problem = problemOf(image, bytes.length, isStored ? mostBytes : mostBytesInHistory);
    if (problem) throw new WorkspaceError(`'${path}' ${problem}`);
    const { mediaType, width, height } = image;
    return [
      { type: 'text', text: `${workspace.show(real)}: ${mediaType}, ${width}x${height} pixels, ${bytes.length} bytes` },
      { type: 'image', url: `data:${mediaType};base64,${bytes.toString('base64')}`, detail },
    ];
  },
});

function problemOf({ mediaType, width, height, isComplete }: ImageHeader, bytes: number, most: number): string | undefined {
  const convert = 'with a program such as ImageMagick in the shell, and view the result';
  if (mediaType === 'image/bmp')
    return `is a BMP image (${width}x${height} pixels), which models do not take. Convert it to PNG ${convert}.`;
  if (!isComplete || width < 1 || height < 1) return 'is a damaged image: its end is missing.';
  if (width > mostPixels || height > mostPixels) {
    return `has ${width}x${height} pixels; models take at most ${mostPixels} on a side. Scale it down to 2048x768 ${convert}.`;
  }
  return bytes > most ? `has ${bytes} bytes; at most ${most} can be shown. Scale it down to 2048x768 ${convert}.` : undefined;
}
