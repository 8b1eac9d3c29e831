import { z } from 'zod';
import type { ImagePart } from '../../core/message';
import { defineTool } from '../defining/define-tool';
import { readBytes } from './file-text';
import { imageHeader } from './image-header';
import { judgeImage, mostFileBytes, scaledTo } from './image-limits';
import { openWorkspace } from './open-workspace';
import { smallerImage } from './smaller-image';
import { WorkspaceError } from './workspace';

/** Shows an image of the workspace to the model: converted if models don't take its format, and scaled if it is larger than they take. */
export const viewImage = defineTool({
  name: 'view_image',
  description: 'Look at an image file (PNG, JPEG, GIF, WebP or BMP), such as a screenshot or a diagram.',
  input: z.object({
    path: z.string().min(1).describe('Relative to the workspace, or absolute.'),
    detail: z.enum(['auto', 'low', 'high']).default('auto').describe('How closely to look; low costs less.'),
  }),
  effect: 'pure',
  async execute({ path, detail }, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const real = await workspace.inside(path);
    const found = await readBytes(workspace, real, path);
    if (!found) throw new WorkspaceError(`'${path}' does not exist.`);
    const { bytes } = found;
    const image = imageHeader(bytes);
    if (!image) throw new WorkspaceError(`'${path}' is not an image in a known format (PNG, JPEG, GIF, WebP, BMP).`);
    const judged = judgeImage(image, bytes.length, ctx.maxOutputBytes);
    if (typeof judged === 'object') throw new WorkspaceError(`'${path}' ${judged.problem}`);
    const { mediaType, width, height } = image;
    const text = `${workspace.show(real)}: ${mediaType}, ${width}x${height} pixels, ${bytes.length} bytes`;
    if (judged === 'fits') return [{ type: 'text', text }, imagePart({ mediaType, bytes }, detail)];
    const work = { bytes, mediaType, ...scaledTo, maxBytes: mostFileBytes(ctx.maxOutputBytes) };
    const made = await smallerImage(work, ctx).catch((error: Error) => {
      throw new WorkspaceError(`'${path}' can't be shown: ${error.message}.`);
    });
    const shownAs = `; ${made.isFirstFrame ? 'its first frame is ' : ''}shown as ${made.mediaType}, ${made.width}x${made.height} pixels`;
    return [{ type: 'text', text: text + shownAs }, imagePart(made, detail)];
  },
});

function imagePart({ mediaType, bytes }: { mediaType: string; bytes: Uint8Array }, detail: 'auto' | 'low' | 'high'): ImagePart {
  return { type: 'image', url: `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`, detail };
}
