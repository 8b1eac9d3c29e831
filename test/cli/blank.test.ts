import { longhaul } from './command';

// Nothing listens there: what is refused is refused before anything is asked of a server.
const env = { TEMPORAL_ADDRESS: '127.0.0.1:9' };

test.each([
  [['worker', '--agents', ''], 'worker: the value of --agents is blank; give one, or leave the option out'],
  [['worker', '--task-queue='], 'worker: the value of --task-queue is blank; give one, or leave the option out'],
  [['dev', '--data', ' '], 'dev: the value of --data is blank; give one, or leave the option out'],
  [['run', '--thread', '', 'hi'], 'run: the value of --thread is blank; give one, or leave the option out'],
  [['run', '--model', '', 'hi'], 'run: the value of --model is blank; give one, or leave the option out'],
  [['list', '--query', ''], 'list: the value of --query is blank; give one, or leave the option out'],
  [['replay', '--query', ''], 'replay: the value of --query is blank; give one, or leave the option out'],
  [['inbox', '--tool', ''], 'inbox: the value of --tool is blank; give one, or leave the option out'],
  [['send', 'T', 'hello', '--id', ''], 'send: the value of --id is blank; give one, or leave the option out'],
  [['approve', 'T', 'C', '--expect', ''], 'approve: the value of --expect is blank; give one, or leave the option out'],
  [['show', ''], "show: the thread's id is blank"],
  [['events', ' '], "events: the thread's id is blank"],
  [['send', '', 'hello'], "send: the thread's id is blank"],
  [['approve', 'T', ''], "approve: the call's id is blank"],
  [['cancel', ''], 'cancel: the id is blank'],
  [['reply', '', 'yes'], 'reply: the correlation id is blank'],
])('a blank value is refused, and is not the same as a missing one: %j', async (args, words) => {
  expect(await longhaul(args, { env })).toEqual({ code: 2, stdout: '', stderr: `error: ${words}\n` });
});

test('a text may be blank for standard input to say so, and a lone blank group is refused as a name', async () => {
  expect((await longhaul(['run', ''], { env })).stderr).toBe('error: the input is blank; nothing was sent\n');
  expect((await longhaul(['inbox', '--group', ''], { env })).code).toBe(2);
});
