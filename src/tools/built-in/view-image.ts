import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { readBytes } from './file-text';
import { imageHeader } from './image-header';
import { imageProblem } from './image-limits';
import { openWorkspace } from './open-workspace';
import { WorkspaceError } from './workspace';

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
    const problem = imageProblem(image, bytes.length, ctx.maxOutputBytes);
    if (problem) throw new WorkspaceError(`'${path}' ${problem}`);
    const { mediaType, width, height } = image;
    return [
      { type: 'text', text: `${workspace.show(real)}: ${mediaType}, ${width}x${height} pixels, ${bytes.length} bytes` },
      { type: 'image', url: `data:${mediaType};base64,${bytes.toString('base64')}`, detail },
    ];
  },
});
