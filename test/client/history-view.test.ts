import { HistoryView } from '../../src/client/history-view';

type Events = Parameters<HistoryView['take']>[0];

const event = (id: number, seconds: number, attributes: object) =>
  ({ eventId: id, eventTime: { seconds, nanos: 0 }, ...attributes }) as unknown as Events[number];
const started = (id: number, seconds: number) => event(id, seconds, { workflowTaskStartedEventAttributes: {} });
const completed = (id: number) => event(id, 99, { workflowTaskCompletedEventAttributes: {} });

test('an answer of a worker before its workflow task was completed does not count as recorded, even if the task is completed by then', () => {
  const view = new HistoryView(0);
  view.begin('run');
  view.take([event(1, 1, { workflowExecutionStartedEventAttributes: {} }), started(3, 2), completed(4)]);
  const afterFirst = performance.now();
  view.take([started(6, 3)]);
  expect([view.wasRecorded(2_000, afterFirst), view.wasRecorded(3_000, performance.now())]).toEqual([true, false]);
  const asked = performance.now();
  view.take([completed(7)]);
  expect([view.wasRecorded(3_000, asked), view.wasRecorded(3_000, performance.now())]).toEqual([false, true]);
});

test('events that were in the history before it was followed count as recorded at any moment', () => {
  const view = new HistoryView(4);
  view.begin('run');
  const asked = performance.now();
  view.take([event(1, 1, { workflowExecutionStartedEventAttributes: {} }), started(3, 2), completed(4), started(6, 3), completed(7)]);
  expect([view.wasRecorded(2_000, asked), view.wasRecorded(3_000, asked)]).toEqual([true, false]);
});
