import { z } from 'zod';
import { defineTool } from '../defining/define-tool';
import { ToolFailure } from '../defining/tool-failure';
import { changeFiles } from './change-files';
import { contentHash, expectedHash, staleHash } from './content-hash';
import { previewOfPlaces } from './edit-preview';
import { type FileText, isText, readFileText } from './file-text';
import { findText, type TextMatch, type TextPlace } from './find-text';
import { openWorkspace } from './open-workspace';
import { clipped, similarLines } from './similar-lines';
import { WorkspaceError } from './workspace';

const input = z.object({
  path: z.string().min(1).describe('Relative to the workspace, or absolute.'),
  old_string: z
    .string()
    .min(1, 'must not be empty; use write_file to create a file or to replace it as a whole')
    .refine(...isText)
    .describe('The text to replace, without the "L{number}: " of read_file. Must be unique in the file, unless replace_all is true.'),
  new_string: z
    .string()
    .refine(...isText)
    .describe('The text that takes its place.'),
  replace_all: z.boolean().default(false).describe('Replace every occurrence.'),
  match: z
    .enum(['auto', 'exact', 'whitespace'])
    .default('auto')
    .describe(
      'exact: the text as it is. whitespace: whole lines, with other blanks at their ends, or all indented more or less; the new text is indented likewise. auto: exact, else whitespace.',
    ),
  expected_hash: expectedHash,
  dry_run: z.boolean().default(false).describe('Only show what would change.'),
});

type EditArguments = z.output<typeof input>;

/**
 * Replaces a text in a file. A reader sees the old file or the new one. `keyed`: a journal in the workspace remembers the call, so that the next
 * attempt after a crash neither repeats the edit nor fails because its result is in place.
 */
export const editFile = defineTool({
  name: 'edit',
  description:
    'Replace a text in a file. The text must occur exactly once, or replace_all must be true; otherwise nothing is written, and the answer shows where it could be.',
  input,
  effect: 'keyed',
  async execute(args, ctx) {
    const workspace = await openWorkspace(ctx.workspace, ctx);
    const makePlan = async () => {
      const file = await readFileText(workspace, args.path);
      const { expected_hash: expected } = args;
      if (expected !== undefined && expected !== file.hash) throw new WorkspaceError(staleHash(args.path, expected, file.hash));
      const found = placesIn(file, args);
      const after = file.mark + replaced(file.text, found.places);
      const path = workspace.show(file.real);
      return { report: reportOf(path, file, found, after, args), files: [{ path, before: file.hash, after }] };
    };
    return args.dry_run ? (await makePlan()).report : changeFiles(workspace, ctx, [args.path], makePlan);
  },
});

interface Found {
  places: TextPlace[];
  match: TextMatch;
}

/** The places to change: one, or all of them with `replace_all`. */
function placesIn({ text }: FileText, args: EditArguments): Found {
  const modes: TextMatch[] = args.match === 'auto' ? ['exact', 'whitespace'] : [args.match];
  for (const match of modes) {
    const places = findText(text, args.old_string, args.new_string, match);
    if (places.length > 1 && !args.replace_all) throw severalMatches(text, places, args.path);
    if (places.length > 0) return { places, match };
  }
  throw noMatch(text, args);
}

const mostShown = 5;

function severalMatches(text: string, places: readonly TextPlace[], path: string): ToolFailure {
  const lines = text.split('\n');
  const shown = places.slice(0, mostShown).map(({ start }) => {
    const number = lineAt(text, start);
    return clipped(number, lines[number - 1] ?? '');
  });
  const more = places.length > mostShown ? `\n[... ${places.length - mostShown} more places ...]` : '';
  return new ToolFailure(
    `Error: old_string occurs ${places.length} times in '${path}', so nothing was written. Add lines before or after it until it is unique, or set replace_all. It begins at:\n${shown.join('\n')}${more}`,
    { name: 'EditNotUniqueError', message: `old_string occurs ${places.length} times in '${path}'` },
  );
}

function noMatch(text: string, { path, old_string: old, new_string: replacement }: EditArguments): ToolFailure {
  const firstLine = old.split('\n').find((line) => line.trim() !== '') ?? '';
  const similar = similarLines(text, firstLine);
  const hints = [
    ...(replacement.trim() !== '' && text.includes(replacement)
      ? [`The file already contains new_string, in line ${lineAt(text, text.indexOf(replacement))}.`]
      : []),
    ...(/^L\d+: /.test(old) ? ['Leave out the line numbers of read_file.'] : []),
    similar.length > 0
      ? `The lines most similar to its first line:\n${similar.join('\n')}`
      : 'No line is similar to its first line. Read the file again.',
  ];
  return new ToolFailure(`Error: old_string was not found in '${path}', so nothing was written. ${hints.join(' ')}`, {
    name: 'EditNotFoundError',
    message: `old_string was not found in '${path}'`,
  });
}

function lineAt(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

function replaced(text: string, places: readonly TextPlace[]): string {
  let [result, from] = ['', 0];
  for (const { start, end, replacement } of places) {
    result += text.slice(from, start) + replacement;
    from = end;
  }
  return result + text.slice(from);
}

function reportOf(path: string, { text, mark }: FileText, { places, match }: Found, after: string, args: EditArguments): string {
  if (after === mark + text) return `'${path}' already has the new text. Nothing changes.`;
  const count = places.length === 1 ? '1 place' : `${places.length} places`;
  const how = match === 'exact' ? '' : ', found with other whitespace';
  const hash = `[hash: ${contentHash(Buffer.from(after))}]`;
  if (!args.dry_run) return `Changed ${count} in ${path} (line ${lineAt(text, places[0]?.start ?? 0)}${how})\n${hash}`;
  return `Would change ${count} in ${path}${how}:\n${previewOfPlaces(text, places)}`;
}
