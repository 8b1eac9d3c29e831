import { resolve } from 'node:path';
import { defineAgent } from '../../src/agents';
import { threadWorkspace } from '../../src/tools';
import { createWorker } from '../../src/worker';

test('a path without the placeholder is the same for each thread', () => {
  expect(threadWorkspace('work', 'a')).toBe(resolve('work'));
});

test('each id has a name of its own below the same folder, however it is spelled', () => {
  const ids = ['a', 'A', '../a', '..', '.', '', 'a/b', 'a\\b', 'a\0b', 'x'.repeat(5_000), 'con', 'ä', 'a\u0308'];
  const folders = ids.map((id) => threadWorkspace('/srv/{threadId}/repo', id));
  for (const folder of folders) expect(folder).toMatch(/^\/srv\/[\w-]{17,57}\/repo$/);
  expect(new Set(folders.map((folder) => folder.toLowerCase())).size).toBe(ids.length);
});

test.each(['/srv/x-{threadId}', '/srv/{threadId}/{threadId}', '/srv/{threadID}', '/srv/{thread_id}/repo', '/srv/{threadId}/../x'])(
  '%s is refused',
  async (workspace) => {
    expect(() => defineAgent({ name: 'a', model: 'openai/gpt-5', instructions: 'x', workspace })).toThrow(/workspace: .*\{threadId\}/);
    const agents = [defineAgent({ name: 'a', model: 'openai/gpt-5', instructions: 'x' })];
    await expect(createWorker({ agents, workspace })).rejects.toThrow(/createWorker: workspace: .*\{threadId\}/);
  },
);
