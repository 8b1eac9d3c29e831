import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeHistoryFile } from '../../src/testing/history-file';

const recorded = { workflowId: 'thread_1', runId: 'run-1', history: { events: [] } as never };
const before = process.cwd();
let outside: string;

beforeEach(() => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'longhaul-history-')));
  outside = join(folder, 'outside');
  mkdirSync(outside);
  mkdirSync(join(folder, 'clone'));
  process.chdir(join(folder, 'clone'));
});
afterEach(() => {
  process.chdir(before);
  rmSync(join(outside, '..'), { recursive: true });
});

test('a history is written into a folder that is created for it, again, and into another than the current folder', () => {
  for (const folder of ['.longhaul/diverged', './.longhaul//diverged/', outside, '../outside']) {
    expect(readdirSync(join(writeHistoryFile(folder, recorded), '..'))).toEqual(['thread_1.run-1.json']);
  }
  writeHistoryFile('.longhaul/diverged', recorded);
});

test('it is not written through a link below the current folder, which may be part of a clone', () => {
  symlinkSync(outside, '.longhaul');
  mkdirSync('real');
  symlinkSync(outside, 'real/diverged');
  mkdirSync('kept');
  writeFileSync(join(outside, 'file'), 'kept');
  symlinkSync(join(outside, 'file'), 'kept/thread_1.run-1.json');
  for (const folder of ['.longhaul/diverged', join(process.cwd(), '.longhaul'), 'real/diverged', 'real/../kept']) {
    expect(() => writeHistoryFile(folder, recorded)).toThrow(/is a symbolic link, and no history is written through one below the current/);
  }
  expect(readdirSync(outside)).toEqual(['file']);
});
