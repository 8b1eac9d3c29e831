import { writeFileSync } from 'node:fs';
import type { QuestionAnswer, ToolQuestion } from '../../../src/core/questions';
import type { McpServer } from '../../../src/tools/mcp/options';
import { until } from '../../support/until';
import { askingOverHttp, askingOverStdio, endAskingServers } from './asking-host';
import { endHosts, mcpHost } from './mcp-host';

afterEach(endHosts);
afterAll(endAskingServers);

const accept = (question: ToolQuestion | undefined, content?: QuestionAnswer['content']): QuestionAnswer => ({
  questionId: question?.id ?? '',
  action: 'accept',
  ...(content && { content }),
});

describe.each([
  ['stdio', async () => askingOverStdio(true)],
  ['HTTP with sessions', () => askingOverHttp('sessions', true)],
])('over %s', (_, start) => {
  test('a call ends at the question of its server, which is told that the call is cancelled, and gets the answer in the next attempt', async () => {
    const { server, notes } = await start();
    const { call } = mcpHost({ own: server });
    const first = await call('own__book', {}, { answers: [] });
    expect(first).toMatchObject({ threw: false, outcome: { status: 'failed', error: { name: 'QuestionAskedError' } } });
    const { asks } = first.outcome;
    expect(asks).toEqual({
      id: expect.stringMatching(/^question_[0-9a-f]{32}$/),
      from: 'own',
      message: 'How many seats, and where?',
      schema: {
        type: 'object',
        properties: {
          seats: { type: 'integer', title: 'Seats', minimum: 1, maximum: 9 },
          place: {
            type: 'string',
            oneOf: [
              { const: 'w', title: 'Window' },
              { const: 'a', title: 'Aisle' },
            ],
            default: 'w',
          },
          extras: { type: 'array', items: { type: 'string', enum: ['meal', 'bag'] }, maxItems: 1 },
          mail: { type: 'string', format: 'email' },
          insured: { type: 'boolean' },
        },
        required: ['seats'],
      },
    });
    await until('the server is told', () => notes().includes('cancelled book') || notes().includes('session closed'));
    expect(notes()).not.toContain('end book');
    const second = await call('own__book', {}, { answers: [accept(asks, { seats: 2, extras: ['bag'] })] });
    expect(second.outcome).toMatchObject({ status: 'success', content: '{"action":"accept","content":{"seats":2,"extras":["bag"]}}' });
    expect(second.outcome.asks).toBeUndefined();
  });

  test('questions one after another are asked one by one, and answers are given in order', async () => {
    const { server } = await start();
    const { call } = mcpHost({ own: server });
    const answers: QuestionAnswer[] = [];
    const asked: (string | undefined)[] = [];
    for (const answer of [accept, () => ({ questionId: '', action: 'decline' as const })]) {
      const { asks } = (await call('own__two', {}, { answers })).outcome;
      asked.push(asks?.message);
      answers.push({ ...answer(asks, { seats: 1 }), questionId: asks?.id ?? '' });
    }
    expect(asked).toEqual(['How many seats, and where?', 'Really?']);
    const { content } = (await call('own__two', {}, { answers })).outcome;
    expect(content).toBe('[{"action":"accept","content":{"seats":1}},{"action":"decline"}]');
  });
});

test('a server of the later protocol, whose results say that input is required, gets its answers too', async () => {
  const { server, notes } = await askingOverHttp('modern', true);
  const { call } = mcpHost({ own: server });
  const { asks } = (await call('own__book', {}, { answers: [] })).outcome;
  expect(asks).toMatchObject({ from: 'own', message: 'How many seats, and where?' });
  const { content } = (await call('own__book', {}, { answers: [accept(asks, { seats: 3 })] })).outcome;
  expect(content).toContain('"content":{"seats":3}');
  expect(notes()).toEqual(['begin book', 'begin book', 'begin book']);
});

test('the same question twice in one call has two answers', async () => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const first = (await call('own__same', {}, { answers: [] })).outcome.asks;
  const answers = [accept(first, { yes: true })];
  const second = (await call('own__same', {}, { answers })).outcome.asks;
  expect(second).toEqual({ ...first, id: `${first?.id}_2` });
  const { content } = (await call('own__same', {}, { answers: [...answers, accept(second, { yes: false })] })).outcome;
  expect(content).toBe('[{"action":"accept","content":{"yes":true}},{"action":"accept","content":{"yes":false}}]');
});

test('a question belongs to the call that runs over its connection, also if several calls ask at the same time', async () => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const names = ['ann', 'ben', 'cid', 'dan'];
  const asked = await Promise.all(names.map((name) => call('own__who', { name }, { answers: [] })));
  expect(asked.map(({ outcome }) => outcome.asks?.message)).toEqual(names.map((name) => `Is it ${name}?`));
  const told = await Promise.all(
    names.map((name, i) => call('own__who', { name }, { answers: [accept(asked[i]?.outcome.asks, { yes: i % 2 === 0 })] })),
  );
  expect(told.map(({ outcome }) => outcome.content)).toEqual(
    names.map((name, i) => `${name}: {"action":"accept","content":{"yes":${i % 2 === 0}}}`),
  );
});

test('a question of a call that was cancelled is not taken for one of the next call', async () => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  await call('own__capable', {}, { answers: [] });
  const cancel = new AbortController();
  const cancelled = call('own__late', { name: 'ann', ms: 600 }, { answers: [], signal: cancel.signal });
  setTimeout(() => cancel.abort(new Error('cancelled')), 200);
  await cancelled;
  const { outcome } = await call('own__late', { name: 'ben', ms: 1_500 }, { answers: [] });
  expect(outcome.asks?.message).toBe('Is it ben?');
});

test('a call that can not wait for a person declines, and its result says so', async () => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const { outcome } = await call('own__pay');
  expect(outcome).toMatchObject({ status: 'success' });
  expect(outcome.content).toBe(
    `[The MCP server 'own' asked the user a question, which was declined, because this call can't wait for a person. It was: "Really?". If the answer is known, pass it as an argument, if there is one for it.]\n{"action":"decline"}`,
  );
});

test('servers are told of elicitation only where questions can be asked', async () => {
  const capable = async (questions?: true) => {
    const { told } = mcpHost({ own: askingOverStdio(questions).server });
    return told('own__capable');
  };
  expect([await capable(true), await capable()]).toEqual(['{"form":{},"url":{}}', 'null']);
});

test('a call that needs an address to be visited asks for it, and runs again', async () => {
  const { server, file } = askingOverStdio(true);
  const { call } = mcpHost({ own: server });
  const visit = (await call('own__visit', {}, { answers: [] })).outcome.asks;
  expect(visit).toEqual({ id: expect.any(String), from: 'own', message: 'Sign in.', url: 'https://example.com/sign?in=1' });
  expect((await call('own__visit', {}, { answers: [accept(visit)] })).outcome.content).toBe('{"action":"accept"}');

  const needed = (await call('own__authorized', {}, { answers: [] })).outcome.asks;
  expect(needed).toMatchObject({ message: 'Sign in.', url: 'https://example.com/sign' });
  const declined = await call('own__authorized', {}, { answers: [{ questionId: needed?.id ?? '', action: 'decline' }] });
  expect(declined.outcome.content).toContain('requires that a user visits an address before this call: the user answered with decline');
  const early = await call('own__authorized', {}, { answers: [accept(needed)] });
  expect(early.outcome.content).toContain('it asks for it again although the user has done so');
  writeFileSync(`${file}.signed`, '');
  expect((await call('own__authorized', {}, { answers: [accept(needed)] })).outcome.content).toBe('signed in');
});

test.each([
  ['long', 'the message of the question has 1000000 characters; people are shown at most 2000'],
  ['keys', /the schema of the question has \d+ characters; people are shown at most 8000/],
  ['invisible', 'a field of the form has characters that people can\'t see: "a<U+200B>b"'],
  ['nested', 'Invalid'],
  ['contradictory', 'the field "a" has a minimum above its maximum, so no answer fits'],
  ['empty', 'the question has no message'],
])('a question that is %s is refused, and the server and the model are told why', async (how, why) => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const { outcome } = await call('own__hostile', { how }, { answers: [] });
  expect(outcome.asks).toBeUndefined();
  expect(outcome.status).toBe('failed');
  expect(outcome.content).toMatch(why);
  expect(JSON.stringify(outcome).length).toBeLessThan(10_000);
});

test('a form with tens of thousands of fields ends the connection, and the next call works', async () => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const { outcome } = await call('own__hostile', { how: 'moreKeys' }, { answers: [] });
  expect(outcome.asks).toBeUndefined();
  expect(outcome.status).toBe('failed');
  await until('the server can be reached again', async () => (await call('own__capable')).outcome.status === 'success');
});

test('hidden characters in a question are made visible', async () => {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const { asks } = (await call('own__hostile', { how: 'hidden' }, { answers: [] })).outcome;
  expect(asks?.message).toBe('Send it<U+202E> to<U+0007> me<U+001B>[2J<U+200B>?');
  expect(asks?.schema?.properties).toEqual({ a: { type: 'string', title: 'A<U+202E><U+001B>[31m', description: 'x y' } });
});

/** Answers each question of a call, as long as it asks. */
async function answerAll(tool: string): Promise<{ answers: number; content: unknown }> {
  const { call } = mcpHost({ own: askingOverStdio(true).server });
  const answers: QuestionAnswer[] = [];
  let { outcome } = await call(tool, {}, { answers });
  while (outcome.asks && answers.length < 30) {
    answers.push(accept(outcome.asks, { yes: true }));
    ({ outcome } = await call(tool, {}, { answers }));
  }
  return { answers: answers.length, content: outcome.content };
}

test('a call may ask 20 questions', async () => {
  const { answers, content } = await answerAll('own__endless');
  expect(answers).toBe(20);
  expect(content).toContain('a call may ask people at most 20 questions');
});

test('a server that asks in other words in each attempt asks nobody after five answers', async () => {
  const { answers, content } = await answerAll('own__clock');
  expect(answers).toBe(5);
  expect(content).toContain('people have answered 5 questions of this call that the server does not ask again');
});

test('options for questions that can not work are refused when the tools are made', () => {
  const problem = (questions: unknown) => {
    const { server } = askingOverStdio(true);
    return () => mcpHost({ own: { ...server, questions } as McpServer });
  };
  expect(problem('yes')).toThrow('servers.own: questions: give true, or who may answer');
  expect(problem({ group: ['ops'] })).toThrow("servers.own: questions.group: is not known; did you mean 'groups'?");
  expect(problem({ deadlineMs: 1_000, onDeadline: 'approve' })).toThrow(
    "questions: onDeadline is 'approve', which answers nothing; use 'deny'",
  );
  expect(problem({ onDeadline: 'deny' })).toThrow('servers.own: questions: onDeadline has no deadline');
});
