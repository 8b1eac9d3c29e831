import fc from 'fast-check';
import { checkAnswer } from '../../src/core/answering';
import type { Checked } from '../../src/core/checked';
import { questionLines } from '../../src/core/question-lines';
import { exampleContent, problemOfContent, problemOfValue, type QuestionField, type QuestionSchema } from '../../src/core/questions';
import type { AskPolicy } from '../../src/core/tool';
import { pendingCalls } from '../../src/core/views';
import { Story } from './story';

const form: QuestionSchema = { type: 'object', properties: { account: { type: 'string', minLength: 2 } }, required: ['account'] };

/** A thread with a call that ended at a question. */
function asking(questions: AskPolicy = {}, schema: QuestionSchema | undefined = form) {
  const story = new Story();
  story.say('go');
  story.begin();
  const play = story.call;
  story.call = () => undefined;
  const verdict = { kind: 'run' as const, effect: 'pure' as const, timeoutMs: 1, questions };
  story.turn({ text: '', said: [], calls: [{ arguments: '{"cents":1}', status: 'success', output: 'x', verdict }] });
  story.call = play;
  const id = story.state.run?.calls[0]?.id ?? '';
  const ask = (questionId: string) => {
    story.record('agent.tool.execution.started', { stepId: 's', toolCallId: id, name: 'pay' });
    story.record('agent.tool.question.asked', {
      toolCallId: id,
      name: 'pay',
      questionId,
      from: 'bank',
      message: 'Which?',
      ...(schema && { schema }),
    });
  };
  ask('question_1');
  const check = (request: object) => checkAnswer(story.state, { toolCallId: id, ...request });
  return { story, state: story.state, id, ask, check };
}

const code = (checked: Checked<unknown>) => (checked.ok ? 'accepted' : checked.code);
const reason = (checked: Checked<unknown>) => (checked.ok ? '' : checked.reason);

test('a question is pending with its form and the arguments of the call, for the people of its policy', () => {
  const { state, id } = asking({ groups: ['leads'] });
  expect(pendingCalls(state)).toEqual([
    {
      kind: 'tool-question',
      toolCallId: id,
      name: expect.any(String),
      arguments: '{"cents":1}',
      question: { id: 'question_1', from: 'bank', message: 'Which?', schema: form },
      groups: ['leads'],
      since: expect.any(String),
    },
  ]);
});

test('an answer lets the call run again, with the answers in order; a new question replaces the answered one', () => {
  const { story, state, id, ask } = asking();
  const count = state.run?.toolCalls;
  story.record('agent.tool.question.answered', {
    toolCallId: id,
    questionId: 'question_1',
    action: 'accept',
    content: { account: 'main' },
  });
  expect(state.run?.calls[0]).toMatchObject({ phase: 'ready', again: true });
  expect(state.run?.calls[0]).not.toHaveProperty('question');
  ask('question_2');
  story.record('agent.tool.question.answered', { toolCallId: id, questionId: 'question_2', action: 'decline' });
  expect(state.run?.calls[0]?.answers).toEqual([
    { questionId: 'question_1', action: 'accept', content: { account: 'main' } },
    { questionId: 'question_2', action: 'decline' },
  ]);
  // A call that runs again counts once.
  expect(state.run?.toolCalls).toBe(count);
  expect(JSON.parse(JSON.stringify(state))).toEqual(state);
});

test('a request is accepted if it answers what is asked', () => {
  const { check } = asking({ users: ['dana'] });
  expect(code(check({ content: { account: 'main' }, by: 'dana' }))).toBe('accepted');
  expect(code(check({ content: { account: 'main' }, questionId: 'question_1', by: 'Dana' }))).toBe('not-entitled');
  expect(code(check({ action: 'decline', by: 'dana' }))).toBe('accepted');
  expect(code(check({ action: 'decline', by: 'eve' }))).toBe('not-entitled');
  expect(code(check({ content: { account: 'main' }, questionId: 'question_2', by: 'dana' }))).toBe('not-as-expected');
  expect(code(check({ toolCallId: 'none', action: 'cancel', by: 'dana' }))).toBe('not-waiting');
});

test('a question without a form takes no content', () => {
  const { check } = asking({}, undefined);
  const { story, state, id } = asking();
  story.record('agent.tool.question.answered', { toolCallId: id, questionId: 'question_1', action: 'decline' });
  story.record('agent.tool.execution.started', { stepId: 's', toolCallId: id, name: 'pay' });
  story.record('agent.tool.question.asked', {
    toolCallId: id,
    name: 'pay',
    questionId: 'q',
    from: 'bank',
    message: 'Sign in.',
    url: 'https://a.example',
  });
  expect(code(checkAnswer(state, { toolCallId: id }))).toBe('accepted');
  expect(reason(checkAnswer(state, { toolCallId: id, content: { a: 1 } }))).toContain('this question has no form');
  expect(reason(check({ action: 'accept' }))).toContain('"account" is required');
});

test('answers are bounded, one by one and all of a call together', () => {
  const { story, state, id, ask, check } = asking();
  expect(reason(check({ content: { account: 'x'.repeat(16_000) } }))).toContain('at most 16000 are kept');
  const large = { account: 'x'.repeat(15_900) };
  for (let n = 1; n <= 4; n++) {
    expect(code(check({ content: large }))).toBe('accepted');
    story.record('agent.tool.question.answered', { toolCallId: id, questionId: `question_${n}`, action: 'accept', content: large });
    ask(`question_${n + 1}`);
  }
  expect(reason(check({ content: large }))).toContain('at most 64000 are kept');
  expect(code(checkAnswer(state, { toolCallId: id, action: 'decline' }))).toBe('accepted');
});

test('no request makes the check throw', () => {
  const { state, id } = asking();
  fc.assert(
    fc.property(fc.anything(), (payload) => {
      expect(checkAnswer(state, payload)).toHaveProperty('ok');
      expect(checkAnswer(state, { toolCallId: id, content: payload })).toHaveProperty('ok');
    }),
  );
});

const choice: QuestionField = { type: 'string', enum: ['a', 'b'] };
const several: QuestionField = {
  type: 'array',
  items: {
    anyOf: [
      { const: 'a', title: 'A' },
      { const: 'b', title: 'B' },
    ],
  },
  minItems: 1,
};

test.each<[string, QuestionField, unknown, string | undefined]>([
  ['a text', { type: 'string' }, '', undefined],
  ['a text that is too short', { type: 'string', minLength: 2 }, 'a', 'must have at least 2 characters'],
  ['emoji, which count once', { type: 'string', maxLength: 2 }, '🙂🙂', undefined],
  ['a text that is too long', { type: 'string', maxLength: 2 }, '🙂🙂🙂', 'must have at most 2 characters'],
  ['a number as a text', { type: 'string' }, 5, 'must be a text'],
  ['an address', { type: 'string', format: 'email' }, 'dana@example.com', undefined],
  ['no address', { type: 'string', format: 'email' }, 'dana@', 'must be an email address'],
  ['a link', { type: 'string', format: 'uri' }, 'https://example.com/a', undefined],
  ['no link', { type: 'string', format: 'uri' }, 'example.com', 'must be an address with a scheme, such as https://example.com'],
  ['a date', { type: 'string', format: 'date' }, '2024-02-29', undefined],
  ['a day that does not exist', { type: 'string', format: 'date' }, '2023-02-29', 'must be a date, such as 2026-01-31'],
  ['a time', { type: 'string', format: 'date-time' }, '2024-02-29T23:59:60.5+02:00', undefined],
  [
    'a time without a zone',
    { type: 'string', format: 'date-time' },
    '2024-02-29T23:59:00',
    'must be a date with time and zone, such as 2026-01-31T12:00:00Z',
  ],
  ['a number', { type: 'number', minimum: 0 }, 0.5, undefined],
  ['no number', { type: 'number' }, Number.NaN, 'must be a number'],
  ['a number that is too small', { type: 'integer', minimum: 2 }, 1, 'must be at least 2'],
  ['yes', { type: 'boolean' }, true, undefined],
  ['a word for yes', { type: 'boolean' }, 'true', 'must be true or false'],
  ['an option', choice, 'b', undefined],
  ['no option', choice, 'c', 'must be one of "a", "b"'],
  ['options', several, ['a', 'b'], undefined],
  ['the title of an option', several, ['A'], 'must contain only "a", "b"'],
  ['an option twice', several, ['a', 'a'], 'must contain each option only once'],
  ['no options', several, [], 'must have at least 1 options'],
])('a field is checked: %s', (_, field, value, problem) => {
  expect(problemOfValue(field, value)).toBe(problem);
});

test('fields of an answer are its own: none comes from the prototype of an object', () => {
  expect(problemOfContent({ type: 'object', properties: {} }, { constructor: 1 })).toContain('the form has no field "constructor"');
  const required: QuestionSchema = { type: 'object', properties: { toString: { type: 'string' as const } }, required: ['toString'] };
  expect(problemOfContent(required, {})).toBe('"toString" is required');
});

test('a question is shown with its fields; no line of it looks like another', () => {
  const lines = questionLines({
    id: 'q',
    from: 'bank\n- to: x',
    message: `Which?\n- account: forged${' '.repeat(100)}far\u001b[2J`,
    schema: {
      type: 'object',
      properties: {
        account: { type: 'string', title: 'Account', description: 'Where it goes', oneOf: [{ const: 'm', title: 'Main' }], default: 'm' },
        cents: { type: 'integer', minimum: 1, maximum: 9 },
      },
      required: ['account'],
    },
  });
  expect(lines).toEqual([
    '? bank - to: x asks: Which?',
    '│ - account: forged<100 blanks>far<U+001B>[2J',
    '- account: Account. Where it goes (one of these, required, usually "m")',
    '  · m: Main',
    '- cents (a whole number, 1 to 9)',
  ]);
});

test('the example of a form has its required fields, or all, and numbers and truth values that fit', () => {
  const limit = fc.option(fc.integer({ min: -9, max: 9 }), { nil: undefined });
  fc.assert(
    fc.property(limit, limit, fc.boolean(), (low, high, isNumber) => {
      fc.pre(low === undefined || high === undefined || low <= high);
      const bounds = { ...(low !== undefined && { minimum: low }), ...(high !== undefined && { maximum: high }) };
      const field: QuestionField = isNumber ? { type: 'number', ...bounds } : { type: 'integer', ...bounds };
      const { n, yes } = exampleContent({ type: 'object', properties: { n: field, yes: { type: 'boolean' } } });
      expect([problemOfValue(field, n), yes]).toEqual([undefined, true]);
    }),
  );
  const properties = { a: { type: 'string' as const }, b: { type: 'integer' as const, default: 4 } };
  expect(exampleContent({ type: 'object', properties, required: ['b'] })).toEqual({ b: 4 });
});
