// Parses Markdown pages as Temporal's Web UI does, and with GitHub's extensions. It is a separate program because the parser is an ES module,
// which Jest does not load. Standard input: a list of pages as JSON; standard output: the types of nodes in each.
import { text } from 'node:stream/consumers';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

const gfmOptions = { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] };
const pages = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(pages.map((page) => [undefined, gfmOptions].map((options) => nodesOf(fromMarkdown(page, options))))));

function nodesOf({ type, value, children = [] }) {
  return [{ type, ...(value !== undefined && { value }) }, ...children.flatMap(nodesOf)];
}
