import { grpc, grpcCode, LonghaulError } from '../../src/client/errors';
import { explain, isNoWorker, noWorker } from '../../src/client/thread-errors';

/** An error as the SDK raises it: told apart by its name, because classes lie across realms. */
function named(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name }, more);
}
const rpc = (code: number, message = 'x') => named('ServiceError', 'request failed', { cause: named('Error', message, { code }) });

function explained(error: unknown): LonghaulError {
  const result = explain('thread_1', 'approve', error);
  expect(result).toBeInstanceOf(LonghaulError);
  return result as LonghaulError;
}

test('the gRPC status is found in the causes, and a code that is a word is none', () => {
  expect(grpcCode(rpc(14))).toBe(14);
  expect(grpcCode(named('Error', 'x', { code: 'ECONNREFUSED', cause: { code: 5 } }))).toBe(5);
  expect(grpcCode(named('Error', 'x', { code: 'ENOENT' }))).toBeUndefined();
  for (const odd of [undefined, null, 'text', 7]) expect(grpcCode(odd)).toBeUndefined();
});

test('a status is not looked for without end where causes go in a circle', () => {
  const error = named('Error', 'x');
  error.cause = error;
  expect(grpcCode(error)).toBeUndefined();
});

test('a refused update is told with the words of the thread', () => {
  const refused = named('WorkflowUpdateFailedError', 'Workflow Update failed', { cause: new Error('"call_1" was answered already') });
  expect(explained(refused)).toMatchObject({
    code: 'request-refused',
    message: 'approve was refused by thread "thread_1": "call_1" was answered already',
    cause: refused,
  });
});

test('a query that the thread refuses is told, too', () => {
  expect(explained(named('QueryNotRegisteredError', 'from must be a whole number'))).toMatchObject({ code: 'request-refused' });
  expect(explained(rpc(grpc.invalidArgument))).toMatchObject({ code: 'request-refused' });
});

test('[B45] a thread that is not there, and one that is over, are told apart and named', () => {
  expect(explained(named('WorkflowNotFoundError', 'no such workflow'))).toMatchObject({
    code: 'thread-not-found',
    message: expect.stringContaining('there is no thread "thread_1"'),
  });
  expect(explained(rpc(grpc.notFound))).toMatchObject({ code: 'thread-not-found' });
  expect(explained(named('WorkflowNotFoundError', 'workflow execution already completed'))).toMatchObject({
    code: 'thread-closed',
    message: expect.stringContaining('thread "thread_1" is over; "longhaul show thread_1" tells how it ended'),
  });
  // It closed while the update was with it.
  const aborted = named('WorkflowNotFoundError', 'workflow update was aborted by closing workflow');
  expect(explained(aborted)).toMatchObject({ code: 'thread-closed' });
});

test.each([
  ['a deadline that passed', rpc(grpc.deadlineExceeded)],
  ['a call that was given up on', rpc(grpc.cancelled)],
  ["the SDK's word for it", named('WorkflowUpdateRPCTimeoutOrCancelledError', 'timed out')],
  ["the server's word for it", named('ServiceError', 'no poller seen for task queue', { code: grpc.failedPrecondition })],
])('that nobody answers is told as no worker, with what to do: %s', (_, error) => {
  expect(isNoWorker(error)).toBe(true);
  expect(explained(error)).toMatchObject({ code: 'no-worker', message: expect.stringContaining('The thread is safe') });
});

test('an error that means something else stays what it is', () => {
  const other = named('TypeError', 'a bug');
  expect(explain('thread_1', 'approve', other)).toBe(other);
  expect(isNoWorker(rpc(grpc.failedPrecondition, 'something else'))).toBe(false);
  const ours = noWorker('thread_1', 'approve');
  expect(explain('thread_2', 'cancel', ours)).toBe(ours);
  for (const odd of [undefined, null, 'text']) expect(explain('thread_1', 'approve', odd)).toBe(odd);
});

test('errors are told apart by code and by name, and a failed run by its own code', () => {
  expect(new LonghaulError('run-failed', 'no', 'auth')).toMatchObject({
    name: 'LonghaulError',
    code: 'run-failed',
    runCode: 'auth',
    message: 'no',
  });
});
