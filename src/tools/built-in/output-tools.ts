import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { messageOfThrown } from '../../core/thrown';
import { defineTool, type Tool } from '../defining/define-tool';
import type { ToolContext } from '../defining/tool-definition';
import { ToolFailure } from '../defining/tool-failure';
import { maxOutputBytes } from '../running/output-cap';
import { searchText } from './search-text';
import { type LongText, linePiece, linesPage } from './text-pages';

/** Reads a stored output of a thread and does something with it; one at a time. Rejects with an error for the model. */
export type UseOutput = <T>(threadId: string, ref: string, signal: AbortSignal, work: (output: LongText) => Promise<T>) => Promise<T>;

/** Space for the footer: a result of these tools is never cut. */
const maxBytes = maxOutputBytes - 512;

const ref = z.string().min(1).describe('The ref of the output, as in "[tool output truncated; ref=…]".');
const footer = (words: string) => `[... ${words} ...]`;

/** Creates the tools with which a model reads the stored outputs of its own thread. They read only, and their results are at most 50 KiB. */
export function createOutputTools(use: UseOutput): Tool[] {
  const withText = <T>(id: string, { threadId, signal }: ToolContext, work: (text: LongText) => Promise<T>): Promise<T> =>
    use(threadId, id, signal, async (output) => {
      if (isUtf8(output.bytes)) return work(output);
      throw new ToolFailure(`Error: the output with ref '${id}' is ${output.bytes.length} bytes of binary data; only text can be read.`);
    }).catch((error: Error) => {
      throw error.name === 'ArtifactError' ? new ToolFailure(`Error: ${error.message}`, { name: error.name }) : error;
    });

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
      const { lines, total } = await withText(id, ctx, (text) => linesPage(text, { offset, limit, maxBytes }));
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
    async execute({ ref: id, ...asked }, ctx) {
      const found = await withText(id, ctx, (text) => linePiece(text, { ...asked, maxBytes }));
      if (!found) return footer(`the output has no line ${asked.line}`);
      const { piece, end, length } = found;
      if (length === 0) return '(empty line)';
      if (piece === '') return footer(`offset ${asked.offset} is past the end: the line has ${length} characters`);
      return end === length ? piece : `${piece}\n${footer(`${length - end} more characters; go on with offset ${end}`)}`;
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
      const { found, matches, more, lines } = await withText(id, ctx, ({ bytes }) =>
        searchText({ ...asked, ignoreCase, maxMatches, maxBytes, bytes }).catch((error: unknown) => {
          throw new ToolFailure(`Error: ${messageOfThrown(error)}. Use a simpler pattern.`);
        }),
      );
      if (matches === 0) return footer(`no match in ${lines} lines`);
      return more ? `${found}\n${footer('more matches; use a narrower pattern, or a higher max_matches')}` : found;
    },
  });

  return [readOutput, readOutputLine, grepOutput];
}
