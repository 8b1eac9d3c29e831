import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { messageOfThrown } from '../../core/thrown';
import { defineTool, type Tool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { maxOutputBytes } from '../running/output-cap';
import { searchText } from './search-text';
import { graphemePage, lineOf, linesPage } from './text-pages';

/** Reads a stored output of a thread. Rejects with an error for the model. */
export type ReadOutput = (threadId: string, ref: string) => Promise<Buffer>;

/** Space for the footer: a result of these tools is never cut. */
const maxBytes = maxOutputBytes - 512;

const ref = z.string().min(1).describe('The ref of the output, as in "[tool output truncated; ref=…]".');
const footer = (words: string) => `[... ${words} ...]`;

/** Creates the tools with which a model reads the stored outputs of its own thread. They read only, and their results are at most 50 KiB. */
export function createOutputTools(read: ReadOutput): Tool[] {
  const textOf = async (threadId: string, id: string): Promise<Buffer> => {
    const bytes = await read(threadId, id);
    if (isUtf8(bytes)) return bytes;
    throw new ToolFailure(`Error: the output with ref '${id}' is ${bytes.length} bytes of binary data; only text can be read.`);
  };

  const readOutput = defineTool({
    name: 'read_output',
    description:
      'Read lines of a tool output that was truncated. Each line comes as "L{number}: {text}", long lines clipped (read_output_line shows them whole).',
    input: z.object({
      ref,
      offset: z.number().int().min(1).default(1).describe('The first line, counted from 1.'),
      limit: z.number().int().min(1).default(2_000).describe('How many lines at most.'),
    }),
    effect: 'pure',
    async execute({ ref: id, offset, limit }, ctx) {
      const { lines, total } = linesPage(await textOf(ctx.threadId, id), { offset, limit, maxBytes });
      if (total === 0) return '(empty output)';
      if (lines.length === 0) return footer(`offset ${offset} is past the end: the output has ${total} lines`);
      const next = offset + lines.length;
      return next > total
        ? lines.join('\n')
        : `${lines.join('\n')}\n${footer(`${total - next + 1} more lines; go on with offset ${next}`)}`;
    },
  });

  const readOutputLine = defineTool({
    name: 'read_output_line',
    description: 'Read one long line of a tool output that was truncated, piece by piece.',
    input: z.object({
      ref,
      line: z.number().int().min(1).default(1).describe('The line, counted from 1.'),
      offset: z.number().int().min(0).default(0).describe('Where in the line to begin, in characters.'),
      limit: z.number().int().min(1).max(maxBytes).default(10_000).describe('How many characters at most.'),
    }),
    effect: 'pure',
    async execute({ ref: id, line: number, offset, limit }, ctx) {
      const line = lineOf(await textOf(ctx.threadId, id), number);
      if (line === undefined) return footer(`the output has no line ${number}`);
      if (line === '') return '(empty line)';
      if (offset >= line.length) return footer(`offset ${offset} is past the end: the line has ${line.length} characters`);
      const [start, end] = graphemePage(line, { offset, limit, maxBytes });
      const piece = line.slice(start, end);
      return end === line.length ? piece : `${piece}\n${footer(`${line.length - end} more characters; go on with offset ${end}`)}`;
    },
  });

  const grepOutput = defineTool({
    name: 'grep_output',
    description:
      'Search a tool output that was truncated. Lines with a match come as "L{number}: {text}", lines around them as "L{number}- {text}".',
    input: z.object({
      ref,
      pattern: z.string().min(1).max(1_000).describe('Text to look for, or a regular expression if regex is true.'),
      regex: z.boolean().default(false).describe('Whether the pattern is a JavaScript regular expression.'),
      ignore_case: z.boolean().default(false),
      before: z.number().int().min(0).max(50).default(0).describe('Lines to show before each match.'),
      after: z.number().int().min(0).max(50).default(0).describe('Lines to show after each match.'),
      max_matches: z.number().int().min(1).max(1_000).default(50),
    }),
    effect: 'pure',
    async execute({ ref: id, ignore_case: ignoreCase, max_matches: maxMatches, ...asked }, ctx) {
      const bytes = await textOf(ctx.threadId, id);
      const { ref: _, ...search } = { ref: id, ...asked, ignoreCase, maxMatches, maxBytes, bytes };
      const { found, matches, more, lines } = await searchText(search).catch((error: unknown) => {
        throw new ToolFailure(`Error: ${messageOfThrown(error)}. Use a simpler pattern.`);
      });
      if (matches === 0) return footer(`no match in ${lines} lines`);
      return more ? `${found}\n${footer('more matches; use a narrower pattern, or a higher max_matches')}` : found;
    },
  });

  return [readOutput, readOutputLine, grepOutput];
}
