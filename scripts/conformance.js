'use strict';

// docs/conformance.md: which test proves which behaviour. A test says so by carrying the number in its name: `[A43]`, `[A43][B27]`.
//   node scripts/conformance.js             writes the page
//   node scripts/conformance.js --missing   lists the lines that are due and have no test

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

function readLines() {
  return JSON.parse(readFileSync(join(root, 'docs/conformance-lines.json'), 'utf8'));
}

/** Due lines without a test. */
function missing() {
  const { lines, notApplicable } = readLines();
  const proven = proofs();
  return Object.entries(lines).filter(([number, words]) => words !== '' && !proven.has(number) && !notApplicable[number]);
}

function render() {
  const { lines, notApplicable } = readLines();
  const proven = proofs();
  const unknown = [...proven.keys()].filter((number) => !(number in lines));
  if (unknown.length > 0) throw new Error(`Tests carry numbers that docs/conformance-lines.json does not have: ${unknown.join(', ')}`);
  // A line without words that a test proves all the same must be seen, too.
  const shown = ([number, words]) => words !== '' || proven.has(number) || notApplicable[number];
  const open = Object.entries(lines).filter((line) => !shown(line));
  const rows = Object.entries(lines)
    .filter(shown)
    .map(([number, words]) => `| ${number} | ${cell(words)} | ${proof(proven.get(number), notApplicable[number])} |`);
  const count = Object.keys(lines).length;
  return `# Conformance

The engine answers to ${count} numbered behaviours of four agent systems that came before it: A for AgentB and OneRingAI, B for BaseAgent
and codelia. This page says of each which test proves it. It is made by \`node scripts/conformance.js\` from the names of the tests,
which carry the numbers, and a test fails when it is out of date. ${proven.size} of ${count} are proven.

| | behaviour | proven by |
| --- | --- | --- |
${rows.join('\n')}

Not yet: ${ranges(open.map(([number]) => number))}.
`;
}

/** `A16 to A26, A42`. */
function ranges(numbers) {
  const runs = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && last.letter === number[0] && last.to + 1 === Number(number.slice(1))) last.to += 1;
    else runs.push({ letter: number[0], from: Number(number.slice(1)), to: Number(number.slice(1)) });
  }
  return runs.map(({ letter, from, to }) => (from === to ? `${letter}${from}` : `${letter}${from} to ${letter}${to}`)).join(', ');
}

function proof(tests, notApplicable) {
  if (notApplicable) return `n/a: ${cell(notApplicable)}`;
  if (!tests) return 'not yet';
  const byFile = new Map();
  for (const { file, name } of tests) byFile.set(file, [...(byFile.get(file) ?? []), name]);
  return [...byFile].map(([file, names]) => `[${file}](../${file}): ${names.map(cell).join('; ')}`).join('<br>');
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

if (require.main === module) {
  if (process.argv.includes('--missing')) {
    const open = missing();
    for (const [number, words] of open) console.log(`${number}  ${words}`);
    console.log(`${open.length} due without a test`);
  } else {
    writeFileSync(page, render());
  }
}

module.exports = { missing, numbered, proofs, render, page };
