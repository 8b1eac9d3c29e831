import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

export interface MarkdownNode {
  type: string;
  value?: string;
}

/** The nodes of each Markdown page, first as Temporal's Web UI parses it, then with GitHub's extensions. */
export function parseMarkdown(pages: readonly string[]): MarkdownNode[][][] {
  const { stdout, stderr, status } = spawnSync(process.execPath, [join(__dirname, 'parse-markdown.mjs')], {
    input: JSON.stringify(pages),
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}
