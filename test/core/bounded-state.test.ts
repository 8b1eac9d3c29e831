import fc from 'fast-check';
import { bytesOf } from '../../src/core/context/carry';
import type { ThreadState } from '../../src/core/state';
import { plot, Story } from './story';

/** What continue-as-new passes on beside the transcript. */
function besideTranscript({ messages: _, archived: __, log: ___, ...rest }: ThreadState): number {
  return bytesOf(rest);
}

test('what a thread carries over beside its transcript does not grow with its age', () => {
  const lives = fc.sample(plot, { seed: 7, numRuns: 20 });
  const story = new Story();
  const { state } = story;
  let requests = 0;
  const year = () => {
    for (const runs of lives) {
      story.play(runs);
      for (let i = 0; i < 60; i++) {
        const request = { key: `pause:${String(++requests).padStart(6, '0')}`, digest: 'd'.repeat(16) };
        story.record('agent.run.paused', { reason: 'a look' }, { request });
        story.record('agent.run.resumed', {});
        const id = story.newId('msg');
        const message = { id, role: 'user' as const, content: 'hello' };
        story.record('thread.message.queued', { message });
        story.record('thread.message.superseded', { messageId: id, message, reason: 'the run ended' });
      }
      const rule = { tool: 'shell', prefix: ['git', `branch-${String(requests).padStart(6, '0')}`] };
      for (let i = 0; i < 20; i++) story.record('agent.approval.decided', { toolCallId: 'c', approved: true, remembered: [rule] });
      // As a compaction and a carry-over leave it.
      Object.assign(state, { messages: [], archived: [], log: [] });
      story.events.length = 0;
    }
    return besideTranscript(state);
  };
  const young = year();
  for (let age = 0; age < 3; age++) year();
  const old = year();
  expect(young).toBeGreaterThan(50_000);
  expect(old).toBeLessThan(young * 1.05);
  expect(old).toBeLessThan(200_000);
});
