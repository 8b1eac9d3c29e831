import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { maxOutputBytes } from '../running/output-cap';
import { openWorkspace } from './open-workspace';
import { type LineWindow, readLines } from './read-lines';
import { WorkspaceError } from './workspace';

/** Space for the footer within the limit of a result. */
const footerBytes = 256;

/**
 * Returns lines as `L{n}: text`, then `[... K more lines ...]` if the file continues, then `[hash: …]` of the whole file, by which tools that write
 * can detect that it has changed. Confined to the workspace.
 */
export const readFile = defineTool({
  name: 'read_file',
  description:
    'Read a text file. Each line comes as "L{number}: {text}". Long files come in pieces: where "[... K more lines ...]" ends the lines, read on with offset. The hash at the end identifies the content, for expected_hash of edit and write_file.',
  input: z.object({
    path: z.string().min(1).describe('Relative to the workspace, or absolute.'),
    offset: z.number().int().min(1).default(1).describe('The first line, counted from 1.'),
    limit: z.number().int().min(1).default(2_000).describe('How many lines at most.'),
  }),
  effect: 'pure',
  async execute({ path, offset, limit }, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const file = await workspace.openFile(path);
    try {
      const found = await readLines(file, { offset, limit, maxBytes: maxOutputBytes - footerBytes }, ctx.signal);
      if (!found) {
        const { size } = await file.stat();
        throw new WorkspaceError(`'${path}' is a binary file (${size} bytes); read_file shows text only.`);
      }
      return `${shown(found, offset)}\n[hash: ${found.hash}]`;
    } finally {
      await file.close();
    }
  },
});

function shown({ lines, total }: LineWindow, offset: number): string {
  if (total === 0) return '(empty file)';
  if (offset > total) return `[offset ${offset} is past the end: the file has ${count(total, 'line')}]`;
  const more = total - (offset - 1) - lines.length;
  return more === 0 ? lines.join('\n') : `${lines.join('\n')}\n[... ${more} more lines ...]`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
