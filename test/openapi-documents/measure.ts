// Loads one OpenAPI document and prints what it found, in a process of its own, so that its memory is measured alone.
import { openApiTools } from '../../src/tools/openapi/openapi-tools';
import { callAll } from './call-all';

export interface Measured {
  operations: number;
  skipped: number;
  tools: number;
  /** Calls with arguments that are valid by the document, and how many of them a server reads as they were meant. */
  calls: number;
  same: number;
  /** Tools whose name or schema is not valid, and calls that are not read as they were meant. */
  problems: string[];
  loadMs: number;
  /** What loading added to the memory of the process at its peak. */
  loadMb: number;
  schemasMs: number;
}

async function measure(file: string): Promise<Measured> {
  const { compile } = await import('../../src/tools/defining/schema-thread.js');
  const before = process.resourceUsage().maxRSS;
  const started = performance.now();
  const tools = await openApiTools({ document: file, server: 'https://api.example.com' });
  const loadMs = performance.now() - started;
  const loadMb = (process.resourceUsage().maxRSS - before) / 1_000;
  const list = tools.list();
  const rendered = performance.now();
  const schemas = list.map(({ name, parameters }) => ({ name, parameters }));
  const schemasMs = performance.now() - rendered;
  const names = new Set<string>();
  const invalid = schemas.flatMap(({ name, parameters }) => {
    const isNew = !names.has(name);
    names.add(name);
    if (!isNew || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return [`${name}: not a valid, unique name`];
    try {
      compile(parameters);
      return [];
    } catch (error) {
      return [`${name}: ${(error as Error).message}`];
    }
  });
  const called = await callAll(file);
  return {
    operations: tools.operations.length + tools.skipped.length,
    skipped: tools.skipped.length,
    tools: list.length,
    loadMs: Math.round(loadMs),
    loadMb: Math.round(loadMb),
    schemasMs: Math.round(schemasMs),
    ...called,
    problems: [...invalid, ...called.problems],
  };
}

measure(process.argv[2] ?? '').then(
  (measured) => process.stdout.write(`${JSON.stringify(measured)}\n`),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  },
);
