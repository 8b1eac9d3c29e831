import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCoder } from '../../src/agents/coder';
import { createAskHuman } from '../../src/tools';

/** What a call of each tool may have, as docs/tools.md shows it: those in brackets may be left out. */
function rows(): string[] {
  const { toolbox } = createCoder();
  const tools = [...toolbox.names().flatMap((name) => toolbox.get(name) ?? []), createAskHuman()];
  return tools.map(({ name, parameters }) => {
    const { properties = {}, required = [] } = parameters as { properties?: object; required?: string[] };
    const shown = Object.keys(properties).map((field) => (required.includes(field) ? `\`${field}\`` : `[\`${field}\`]`));
    return `| \`${name}\` | ${shown.join(', ')} |`;
  });
}

test('docs/tools.md has the arguments of every tool of the built-in agent', () => {
  const page = readFileSync(join(__dirname, '../../docs/tools.md'), 'utf8');
  const missing = rows().filter((row) => !page.includes(`${row}\n`));
  expect(missing).toEqual([]);
});
