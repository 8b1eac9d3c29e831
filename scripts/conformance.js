'use strict';

// Generates docs/conformance.md, which lists the tests that prove each behaviour. A test that proves a line has the line's number in its name:
// `[A43]`, `[A43][B27]`. docs/conformance-lines.json has the lines, and the clauses that no test proves.
//   node scripts/conformance.js          writes the page
//   node scripts/conformance.js --open   lists the lines that are proven only in part, or not yet

const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join, relative, sep } = require('node:path');

const root = join(__dirname, '..');
const page = join(root, 'docs/conformance.md');

/** The numbers in the names of tests: a Map of number to [{ file, name }]. */
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

/** The names with numbers of tests and groups in a source, in any quotes, including those of tables (`test.each(…)('[A1] …'`). */
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

/** The lines: { [number]: { says, partly?: the clause that no test proves, notApplicable?: the reason } }. */
function readLines() {
  return JSON.parse(readFileSync(join(root, 'docs/conformance-lines.json'), 'utf8')).lines;
}

/** `n/a` if there is a reason for it; `not yet` without a test; `partly` if a clause is not proven; else `proven`. */
function statusOf({ partly, notApplicable }, tests) {
  if (notApplicable) return 'n/a';
  if (!tests) return 'not yet';
  return partly ? 'partly' : 'proven';
}

/** Inconsistencies: numbers of tests that are not lines, lines without text, and statuses that contradict the tests. */
function problems() {
  const lines = readLines();
  const proven = proofs();
  return [
    ...[...proven.keys()].filter((number) => !lines[number]).map((number) => `${number}: a test has this number, but no line has it`),
    ...Object.entries(lines).flatMap(([number, line]) => {
      const found = [];
      if (!line.says?.trim()) found.push(`${number}: has no text`);
      if (line.partly !== undefined && !proven.has(number)) found.push(`${number}: has an unproven clause, but no test has this number`);
      if (line.notApplicable && proven.has(number)) found.push(`${number}: does not apply, but a test has this number`);
      const odd = Object.keys(line).filter((key) => !['says', 'partly', 'notApplicable'].includes(key));
      if (odd.length > 0) found.push(`${number}: unknown field ${odd.join(', ')}`);
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
    const what = { partly: `partly, except: ${line.partly}`, 'n/a': `n/a: ${line.notApplicable}` }[status] ?? status;
    return `| ${number} | ${cell(line.says)} | ${cell(what)} | ${links(proven.get(number))} |`;
  });
  return `# Conformance

This page lists ${Object.keys(lines).length} numbered behaviours of four earlier agent systems: A for AgentB and OneRingAI, B for BaseAgent and codelia. Each line
describes one behaviour completely, in this project's words, with its status:

| | lines |
| --- | --- |
| proven: tests prove every clause | ${counts.proven} |
| partly: tests prove it except for the clause that is named | ${counts.partly} |
| not yet: no test proves it | ${counts['not yet']} |
| n/a: it does not apply | ${counts['n/a']} |

A line is met if a user of that system gets the behaviour: by default, with a setting, or in a projection of the log to that system's events.
\`node scripts/conformance.js\` generates the page from the numbers in the names of tests, and a test fails if the page is out of date.
\`docs/conformance-lines.json\` has the text of the lines and the clauses that are not proven.

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
      if (status === 'partly') console.log(`${number}  except: ${line.partly}`);
      if (status === 'not yet') console.log(`${number}  not yet: ${line.says}`);
    }
  } else {
    writeFileSync(page, render());
  }
}

module.exports = { numbered, page, problems, proofs, render, statusOf };
