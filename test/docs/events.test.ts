import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endStatus } from '../../src/core/event';

const read = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8');

/** The events of an interface in src/core/event.ts with the names of their data's fields, read from its text. */
function eventsOf(name: string): Map<string, string[]> {
  const body = read('src/core/event.ts').match(new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, 's'))?.[1] ?? '';
  const events = new Map<string, string[]>();
  for (const [, type, data, asked] of body.matchAll(/^ {2}'([\w.]+)': \{(.*?)\}( & AskDetails)?;$/gms)) {
    events.set(type!, [...topLevelFields(data!), ...(asked ? fieldsOfAsked() : [])]);
  }
  return events;
}

function fieldsOfAsked(): string[] {
  return topLevelFields(read('src/core/event.ts').match(/export interface AskDetails \{\n(.*?)\n\}/s)?.[1] ?? '');
}

/** Names of fields, with `?` where they may be absent; those of inner objects left out. */
function topLevelFields(data: string): string[] {
  let text = data.replace(/\/\*\*.*?\*\//gs, '');
  for (let before = ''; before !== text; ) [before, text] = [text, text.replace(/\{[^{}]*\}|<[^<>]*>/g, '')];
  return [...text.matchAll(/(\w+\??):/g)].map(([, field]) => field!);
}

/** The rows of a table in docs/events.md: event and the fields in its second column. */
function tableOf(heading: string): Map<string, string[]> {
  const section =
    read('docs/events.md')
      .split(/^## /m)
      .find((part) => part.startsWith(heading)) ?? '';
  const rows = [...section.matchAll(/^\| `([\w.]+)` \| (.*?) \| .+ \|$/gm)];
  return new Map(rows.map(([, type, data]) => [type!, [...data!.matchAll(/`(\w+\??)`/g)].map(([, field]) => field!)]));
}

test.each([
  ['Durable events', 'DurableEventData'],
  ['Live events', 'EphemeralEventData'],
])('%s of docs/events.md are those of %s, with the fields of their data', (heading, name) => {
  const types = eventsOf(name);
  expect(types.size).toBeGreaterThan(2);
  expect(Object.fromEntries(tableOf(heading))).toEqual(Object.fromEntries(types));
});

test('docs/events.md names the terminal events', () => {
  const section =
    read('docs/events.md')
      .split(/^## /m)
      .find((part) => part.startsWith('The end of a run')) ?? '';
  for (const type of Object.keys(endStatus)) expect(section).toContain(`\`${type}\``);
});
