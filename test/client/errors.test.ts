import { grpc, grpcCode, LonghaulError } from '../../src/client/errors';
import { explain, isNoWorker, noWorker } from '../../src/client/thread-errors';

/** An error as the SDK raises it: identified by its name, because classes differ between realms. */
function named(name: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { name }, more);
}
const rpc = (code: number, message = 'x') => named('ServiceError', 'request failed', { cause: named('Error', message, { code }) });

function explained(error: unknown): LonghaulError {
  const result = explain('thread_1', 'approve', error);
  expect(result).toBeInstanceOf(LonghaulError);
  return result as LonghaulError;
}

test('the gRPC status is found in the causes, and a code that is a word is not one', () => {
  expect(grpcCode(rpc(14))).toBe(14);
  expect(grpcCode(named('Error', 'x', { code: 'ECONNREFUSED', cause: { code: 5 } }))).toBe(5);
  expect(grpcCode(named('Error', 'x', { code: 'ENOENT' }))).toBeUndefined();
  for (const odd of [undefined, null, 'text', 7]) expect(grpcCode(odd)).toBeUndefined();
});

test('the search for a status ends if causes are circular', () => {
  const error = named('Error', 'x');
  error.cause = error;
  expect(grpcCode(error)).toBeUndefined();
});

test('a refused update is reported with the message of the thread', () => {
  const refused = named('WorkflowUpdateFailedError', 'Workflow Update failed', { cause: new Error('"call_1" was answered already') });
  expect(explained(refused)).toMatchObject({
    code: 'request-refused',
    message: 'approve was refused by thread "thread_1": "call_1" was answered already',
    cause: refused,
  });
});

test('and with the code of the thread, if it has one', () => {
  const of = (type: string) => {
    const cause = Object.assign(new Error('no'), { name: 'ApplicationFailure', type });
    return explained(named('WorkflowUpdateFailedError', 'Workflow Update failed', { cause }));
  };
  expect(of('not-waiting')).toMatchObject({ code: 'request-refused', refusal: 'not-waiting' });
  expect(of('thread-closed')).toMatchObject({ code: 'thread-closed', refusal: 'thread-closed' });
  expect(of('InvalidRequest')).not.toHaveProperty('refusal');
});

test('a query that the thread refuses is reported, too', () => {
  expect(explained(named('QueryNotRegisteredError', 'from must be a whole number'))).toMatchObject({ code: 'request-refused' });
  expect(explained(rpc(grpc.invalidArgument))).toMatchObject({ code: 'request-refused' });
});

test('[B45] a thread that does not exist and one that has ended have different errors', () => {
  expect(explained(named('WorkflowNotFoundError', 'no such workflow'))).toMatchObject({
    code: 'thread-not-found',
    message: expect.stringContaining('there is no thread "thread_1"'),
  });
  expect(explained(rpc(grpc.notFound))).toMatchObject({ code: 'thread-not-found' });
  expect(explained(named('WorkflowNotFoundError', 'workflow execution already completed'))).toMatchObject({
    code: 'thread-closed',
    message: expect.stringContaining('thread "thread_1" has ended; "longhaul show thread_1" says how it ended'),
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
])('a missing answer is reported as no worker, with what to do: %s', (_, error) => {
  expect(isNoWorker(error)).toBe(true);
  expect(explained(error)).toMatchObject({ code: 'no-worker', message: expect.stringContaining('The thread is safe') });
});

test('an error with another meaning is not changed', () => {
  const other = named('TypeError', 'a bug');
  expect(explain('thread_1', 'approve', other)).toBe(other);
  expect(isNoWorker(rpc(grpc.failedPrecondition, 'something else'))).toBe(false);
  const ours = noWorker('thread_1', 'approve');
  expect(explain('thread_2', 'cancel', ours)).toBe(ours);
  for (const odd of [undefined, null, 'text']) expect(explain('thread_1', 'approve', odd)).toBe(odd);
});

test('errors differ by code and by name, and a failed run has its own code', () => {
  expect(new LonghaulError('run-failed', 'no', 'auth')).toMatchObject({
    name: 'LonghaulError',
    code: 'run-failed',
    runCode: 'auth',
    message: 'no',
  });
});
