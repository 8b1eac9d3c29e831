'use strict';

// docs/conformance.md: which test proves which behaviour. A test says so by carrying the number in its name: `[A43]`, `[A43][B27]`.
// docs/conformance-lines.json has the lines, and the clauses that no test proves.
//   node scripts/conformance.js          writes the page
//   node scripts/conformance.js --open   lists what is proven in part, and what is not yet

const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join, relative, sep } = require('node:path');

const root = join(__dirname, '..');
const page = join(root, 'docs/conformance.md');

/** The numbers that the tests' names carry, with the file and the name: Map of number to [{ file, name }]. */
function proofs(folder = join(root, 'test')) {
  const found = new Map();
  for (const file of testFiles(folder)) {
    for (const { numbers, name } of numbered(readFileSync(file, 'utf8'))) {
      for (const number of numbers) {
        const list = found.get(number) ?? [];
        list.push({ file: relative(root, file).split(sep).join('/'), name });
        found.set(number, list);
      }
    }
  }
  return found;
}

function testFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** The names of tests and groups in a source that carry numbers, in any quotes, also of tables (`test.each(…)('[A1] …'`). */
function numbered(source) {
  const quoted = /(?<=\(\s*)(['"`])((?:\[[AB]\d+(?:\s*,\s*[AB]\d+)*\]\s*)+)((?:\\.|(?!\1)[^\\])+)\1/gs;
  return [...source.matchAll(quoted)].map(([, , marks, name]) => ({
    numbers: marks.match(/[AB]\d+/g),
    name: name
      .replace(/\\(['"`])/g, '$1')
      .replace(/\s+/g, ' ')
      .trim(),
  }));
}

/** { [number]: { says, partly?: the clause that no test proves, notApplicable?: the reason } } */
function readLines() {
  return JSON.parse(readFileSync(join(root, 'docs/conformance-lines.json'), 'utf8')).lines;
}

/** `n/a` where a reason says so; `not yet` without a test; `partly` where a clause is left; else `proven`. */
function statusOf({ partly, notApplicable }, tests) {
  if (notApplicable) return 'n/a';
  if (!tests) return 'not yet';
  return partly ? 'partly' : 'proven';
}

/** What is wrong with the lines: numbers that only a test or only a page knows, and clauses that are left of nothing. */
function problems() {
  const lines = readLines();
  const proven = proofs();
  return [
    ...[...proven.keys()].filter((number) => !lines[number]).map((number) => `${number}: a test carries it, and it is no line`),
    ...Object.entries(lines).flatMap(([number, line]) => {
      const found = [];
      if (!line.says?.trim()) found.push(`${number}: has no words`);
      if (line.partly !== undefined && !proven.has(number)) found.push(`${number}: a clause is left of it, but no test carries it`);
      if (line.notApplicable && proven.has(number)) found.push(`${number}: does not apply, and a test carries it`);
      const odd = Object.keys(line).filter((key) => !['says', 'partly', 'notApplicable'].includes(key));
      if (odd.length > 0) found.push(`${number}: ${odd.join(', ')} is not known`);
      return found;
    }),
  ];
}

function render() {
  const lines = readLines();
  const proven = proofs();
  const counts = { proven: 0, partly: 0, 'not yet': 0, 'n/a': 0 };
  const rows = Object.entries(lines).map(([number, line]) => {
    const status = statusOf(line, proven.get(number));
    counts[status] += 1;
    const what = { partly: `partly, but for: ${line.partly}`, 'n/a': `n/a: ${line.notApplicable}` }[status] ?? status;
    return `| ${number} | ${cell(line.says)} | ${cell(what)} | ${links(proven.get(number))} |`;
  });
  return `# Conformance

The engine answers to ${Object.keys(lines).length} numbered behaviours of four agent systems that came before it: A for AgentB and OneRingAI, B for BaseAgent
and codelia. Each stands here whole, every clause of it, in this project's words, with its status:

| | lines |
| --- | --- |
| proven: tests hold every clause | ${counts.proven} |
| partly: tests hold it but for the clause that is named | ${counts.partly} |
| not yet | ${counts['not yet']} |
| n/a: it will never apply | ${counts['n/a']} |

A line is met where a user of that system gets the behaviour: by default, by a setting, or in a projection of the log into that system's
words. Tests carry the numbers in their names; the page is made from them by \`node scripts/conformance.js\`, and a test fails when it is out
of date. A clause that is left is named in \`docs/conformance-lines.json\`.

| | behaviour | status | tests |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function links(tests = []) {
  const byFile = new Map();
  for (const { file, name } of tests) byFile.set(file, [...(byFile.get(file) ?? []), name]);
  return [...byFile].map(([file, names]) => `[${file}](../${file}): ${names.map(cell).join('; ')}`).join('<br>');
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

if (require.main === module) {
  if (process.argv.includes('--open')) {
    const proven = proofs();
    for (const [number, line] of Object.entries(readLines())) {
      const status = statusOf(line, proven.get(number));
      if (status === 'partly') console.log(`${number}  but for: ${line.partly}`);
      if (status === 'not yet') console.log(`${number}  not yet: ${line.says}`);
    }
  } else {
    writeFileSync(page, render());
  }
}

module.exports = { numbered, page, problems, proofs, render, statusOf };
