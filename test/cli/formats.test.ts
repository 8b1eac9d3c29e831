import { formatNames } from '../../src/cli/views/format-names';
import { createLines } from '../../src/cli/views/formats';
import type { AgentEvent } from '../../src/core/event';
import { logs } from '../projections/log';

const printed = (events: readonly AgentEvent[], ...how: Parameters<typeof createLines>) => {
  const lines = createLines(...how);
  return events.map((event) => lines(event).text).join('');
};
const parsed = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

test('[B48] the format longhaul prints the events unchanged, and every other format has its own lines', () => {
  const { events } = logs.oneTool();
  expect(parsed(printed(events, 'longhaul'))).toEqual(events);
  const others = formatNames.filter((name) => name !== 'longhaul').map((name) => printed(events, name));
  expect(new Set(others).size).toBe(formatNames.length - 1);
  for (const text of others) {
    expect(text.endsWith('\n')).toBe(true);
    expect(parsed(text).length).toBeGreaterThan(5);
  }
});

test('lines that start at a later event are the same as in the complete output', () => {
  const { events } = logs.conversation();
  const second = events.find((event) => event.runId === 'run_2') as AgentEvent & { seq: number };
  for (const format of formatNames) {
    const all = printed(events, format);
    const late = printed(events, format, { from: second.seq });
    expect(late).not.toBe('');
    expect(late.length).toBeLessThan(all.length);
    expect(all.endsWith(late)).toBe(true);
  }
});

test('facts about the thread are used in the texts', () => {
  const { events } = logs.retried();
  expect(parsed(printed(events, 'codelia', { model: 'openai/gpt-x', contextWindow: 1_200 }))).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        params: expect.objectContaining({ event: expect.objectContaining({ type: 'llm.retry', provider: 'openai' }) }),
      }),
      { method: 'run.context', params: { run_id: 'run_1', context_left_percent: 90 } },
    ]),
  );
});
