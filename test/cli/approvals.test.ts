import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { askPerson } from '../../src/cli/ask-person';
import { createPrompt, NoAnswer } from '../../src/cli/prompt';
import type { Thread } from '../../src/client';
import type { PendingCall } from '../../src/core/event';
import { until } from '../support/until';

const call: PendingCall = { kind: 'approval', toolCallId: 'c1', name: 'deploy', arguments: '{"to":"production"}' };

/** A person at a terminal, and a thread that keeps what it was told. */
function scene() {
  const input = new PassThrough();
  const output = new PassThrough();
  let screen = '';
  // Colours come and go with the environment.
  output.on('data', (chunk) => (screen += stripVTControlCharacters(String(chunk))));
  const told: unknown[] = [];
  const state = { pending: [call], refuse: undefined as string | undefined };
  const answered = (what: unknown) => {
    if (state.refuse) {
      const message = state.refuse;
      state.refuse = undefined;
      return Promise.reject(Object.assign(new Error(message), { name: 'LonghaulError', code: 'request-refused' }));
    }
    told.push(what);
    state.pending = [];
    return Promise.resolve();
  };
  const thread = {
    pending: () => Promise.resolve(state.pending),
    approve: (id: string, decision: object) => answered({ approve: id, ...decision }),
    reject: (id: string, decision: object) => answered({ reject: id, ...decision }),
  } as unknown as Thread;
  const prompt = createPrompt({ input, output });
  const gone: unknown[] = [];
  const approvals = askPerson(thread, {
    prompt,
    write: (text) => void output.write(text),
    by: 'dana',
    onGone: (error) => gone.push(error),
  });
  const sees = (text: string | RegExp) =>
    until(`the screen shows ${text}, it shows: ${screen}`, () => (typeof text === 'string' ? screen.includes(text) : text.test(screen)));
  /** Answers a question once it is there. */
  const answer = async (question: string | RegExp, line: string) => {
    await sees(question);
    screen = '';
    input.write(`${line}\n`);
  };
  return { input, told, state, prompt, approvals, gone, sees, answer, screen: () => screen };
}

test('a person sees all of the arguments and says yes', async () => {
  const { approvals, answer, sees, told } = scene();
  expect(await approvals.offer([call])).toBe('answering');
  await sees('to: production');
  await answer('Run deploy?', 'y');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana' }]);
});

test('a person says no, and why', async () => {
  const { approvals, answer, told } = scene();
  await approvals.offer([call]);
  await answer('Run deploy?', 'n');
  await answer('Why not?', 'not on a Friday');
  await until('it is refused', () => told.length === 1);
  expect(told).toEqual([{ reject: 'c1', by: 'dana', reason: 'not on a Friday' }]);
});

test('a person edits the arguments; what is no JSON, or does not fit, is asked again', async () => {
  const { approvals, answer, sees, told, state } = scene();
  await approvals.offer([call]);
  await answer('Run deploy?', 'maybe');
  await answer('Run deploy?', 'e');
  await answer('Arguments', 'staging');
  await sees('no JSON object');
  state.refuse = 'approve was refused: to must be a string';
  await answer('Run deploy?', 'e');
  await answer('Arguments', '{"to":7}');
  await sees('to must be a string');
  await answer('Run deploy?', 'e');
  await answer('Arguments', '{"to":"staging"}');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana', arguments: { to: 'staging' } }]);
});

test('the question is taken back when somebody else decides, and what was decided long ago is not asked', async () => {
  const { approvals, sees, answer, gone, state, told } = scene();
  await approvals.offer([call]);
  await sees('Run deploy?');
  approvals.decided('c1');
  const second = { ...call, toolCallId: 'c2', name: 'publish' };
  state.pending = [second];
  await approvals.offer([call, second]);
  await answer('Run publish?', 'y');
  await until('the second is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c2', by: 'dana' }]);
  expect(gone).toEqual([]);
});

test('the end of the input means that nobody is there any more', async () => {
  const { approvals, input, sees, gone } = scene();
  await approvals.offer([call]);
  await sees('Run deploy?');
  input.end();
  await until('the person is gone', () => gone.length === 1);
  expect((gone[0] as Error).name).toBe('NoAnswer');
});

test('an urgent question comes first, and the one it pushed aside is asked again', async () => {
  const { approvals, sees, answer, prompt, told } = scene();
  await approvals.offer([call]);
  await sees('Run deploy?');
  const choice = prompt.askFirst('Leave? ');
  await answer('Leave?', 'stay');
  expect(await choice).toBe('stay');
  await answer('Run deploy?', 'y');
  await until('it is approved', () => told.length === 1);
});

test('a closed prompt answers nothing', async () => {
  const { prompt } = scene();
  const question = prompt.ask('Really? ');
  prompt.close();
  await expect(question).rejects.toThrow(NoAnswer);
  await expect(prompt.ask('Again? ')).rejects.toThrow(NoAnswer);
});
