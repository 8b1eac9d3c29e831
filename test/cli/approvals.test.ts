import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { askPerson } from '../../src/cli/commands/ask-person';
import { createPrompt, NoAnswer } from '../../src/cli/commands/prompt';
import { styled } from '../../src/cli/views/styled';
import type { Expecting, Thread } from '../../src/client/thread';
import type { PendingCall } from '../../src/core/event';
import { until } from '../support/until';

const call: PendingCall = { kind: 'approval', toolCallId: 'c1', name: 'deploy', arguments: '{"to":"production"}' };

/** A person at a terminal, and a thread that records its requests. */
function scene(waits: PendingCall = call, columns?: number) {
  const input = new PassThrough();
  const output = new PassThrough();
  let screen = '';
  // Colours come and go with the environment.
  output.on('data', (chunk) => (screen += stripVTControlCharacters(String(chunk))));
  const told: unknown[] = [];
  const asShown = ({ expect: shown, ...decision }: Expecting) => {
    // Otherwise the client would sign whatever waits by then.
    expect(state.pending).toContain(shown);
    return decision;
  };
  const state = { pending: [waits], refuse: undefined as string | undefined, paused: undefined as object | undefined };
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
    approve: (id: string, decision: Expecting) => answered({ approve: id, ...asShown(decision) }),
    reject: (id: string, decision: Expecting) => answered({ reject: id, ...asShown(decision) }),
    answer: (id: string, text: string, who: object) => answered({ answer: id, text, ...who }),
    answerQuestion: (id: string, reply: object) => answered({ id, ...reply }),
    send: (input: string, options: object) => answered({ send: input, ...options }),
    status: () => Promise.resolve({ paused: state.paused }),
    resume: (who: object) => answered({ resume: true, ...who }),
  } as unknown as Thread;
  const prompt = createPrompt({ input, output });
  const gone: unknown[] = [];
  const onScreen: string[] = [];
  const approvals = askPerson(thread, {
    prompt,
    write: (text) => void output.write(text.text),
    columns,
    by: 'dana',
    groups: ['leads'],
    onAsked: (id) => onScreen.push(id),
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
  return { input, told, state, prompt, approvals, gone, onScreen, sees, answer, screen: () => screen };
}

test('a person sees all arguments and approves', async () => {
  const { approvals, answer, sees, told } = scene();
  expect(await approvals.offer([call])).toBe('answering');
  await sees('to: production');
  await answer('Run deploy?', 'y');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana', groups: ['leads'] }]);
});

test('text that is longer than a row of the terminal continues after a mark, so that none of it looks like another argument', async () => {
  const command = `terraform apply -auto-approve -var env=prod #${' '.repeat(22)}    dry_run: true`;
  const long = { ...call, arguments: JSON.stringify({ command }) };
  const { approvals, answer, sees } = scene(long, 80);
  await approvals.offer([long]);
  await sees(/command: terraform.*\n {4}┆ +dry_run: true\n/);
  await answer('Run deploy?', 'y');
});

test('a call that is for other people is not asked about; one that is for this person, too, is', async () => {
  const { approvals, answer, told, state } = scene();
  state.pending = [
    { ...call, toolCallId: 'theirs', groups: ['owners'], users: ['kim'] },
    { ...call, groups: ['owners', 'leads'] },
  ];
  await approvals.offer(state.pending);
  await answer('Run deploy?', 'y');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana', groups: ['leads'] }]);
});

test('a person refuses with a reason', async () => {
  const { approvals, answer, told } = scene();
  await approvals.offer([call]);
  await answer('Run deploy?', 'n');
  await answer('Why not?', 'not on a Friday');
  await until('it is refused', () => told.length === 1);
  expect(told).toEqual([{ reject: 'c1', by: 'dana', groups: ['leads'], reason: 'not on a Friday' }]);
});

test('a person edits the arguments; invalid JSON, or arguments that do not match the schema, are asked for again', async () => {
  const { approvals, answer, sees, told, state } = scene();
  await approvals.offer([call]);
  await answer('Run deploy?', 'maybe');
  await sees('"maybe" is not one of the answers');
  await answer('Run deploy?', 'e');
  await answer('Arguments', 'staging');
  await sees('not a JSON object');
  state.refuse = 'approve was refused: to must be a string';
  await answer('Run deploy?', 'e');
  await answer('Arguments', '{"to":7}');
  await sees('to must be a string');
  await answer('Run deploy?', 'e');
  await answer('Arguments', '{"to":"staging"}');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana', groups: ['leads'], arguments: { to: 'staging' } }]);
});

test('the question is withdrawn when someone else decides, and a call that was already decided is not asked about', async () => {
  const { approvals, sees, answer, gone, onScreen, state, told } = scene();
  await approvals.offer([call]);
  await sees('Run deploy?');
  expect(onScreen).toEqual(['c1']);
  approvals.decided('c1');
  const second = { ...call, toolCallId: 'c2', name: 'publish' };
  state.pending = [second];
  await approvals.offer([call, second]);
  await answer('Type "next"', 'next');
  await answer('Run publish?', 'y');
  await until('the second is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c2', by: 'dana', groups: ['leads'] }]);
  expect(gone).toEqual([]);
});

test('an answer to a question that was withdrawn meanwhile does not answer the next one, however late it arrives', async () => {
  const { approvals, input, sees, answer, state, told, screen } = scene();
  const second = { ...call, toolCallId: 'c2', name: 'publish' };
  state.pending = [call, second];
  await approvals.offer([call, second]);
  await sees('Run deploy?');
  // Typed, and not sent off yet.
  input.write('y');
  state.pending = [second];
  approvals.decided('c1');
  await sees('Type "next"');
  expect(screen()).not.toContain('publish');
  input.write('\n');
  // Sent off after the next one was announced.
  await answer('Type "next"', 'y');
  await answer('Type "next"', 'yes');
  expect(told).toEqual([]);
  await answer('Type "next"', 'next');
  await answer('Run publish?', 'n');
  await answer('Why not?', '');
  await until('it is refused', () => told.length === 1);
  expect(told).toEqual([{ reject: 'c2', by: 'dana', groups: ['leads'] }]);
});

test('text that was typed before a question is on the screen does not answer it', async () => {
  const { approvals, input, sees, answer, told } = scene();
  input.write('y\ny\ny');
  await approvals.offer([call]);
  await sees('Run deploy?');
  expect(told).toEqual([]);
  await answer('Run deploy?', 'n');
  await answer('Why not?', '');
  await until('it is refused', () => told.length === 1);
  expect(told).toEqual([{ reject: 'c1', by: 'dana', groups: ['leads'] }]);
});

test('a person approves what is on the screen, and can view long arguments in full', async () => {
  const long = {
    ...call,
    digest: '0123456789abcdef',
    arguments: JSON.stringify({ to: 'production', notes: `a\n${'x'.repeat(9_000)}the end` }),
  };
  const { approvals, sees, answer, told, screen } = scene(long);
  await approvals.offer([long]);
  await sees('Run deploy?');
  expect(screen()).toMatch(
    /agent asks to run deploy \(0123456789abcdef\)\n {4}to: production\n {4}notes: a\n {4}│ x+\n {4}… \d+ more characters of notes are not shown\n/,
  );
  await answer('[v]iew all of it', 'v');
  await sees('xthe end\n');
  await answer('Run deploy?', 'y');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana', groups: ['leads'] }]);
});

test('the end of the input means that no person is there any more', async () => {
  const { approvals, input, sees, gone } = scene();
  await approvals.offer([call]);
  await sees('Run deploy?');
  input.end();
  await until('the person is gone', () => gone.length === 1);
  expect((gone[0] as Error).name).toBe('NoAnswer');
});

test('an urgent question comes first, and the interrupted one is asked again', async () => {
  const { approvals, sees, answer, prompt, told } = scene();
  await approvals.offer([call]);
  await sees('Run deploy?');
  const choice = prompt.askFirst(styled`Leave? `);
  await answer('Leave?', 'stay');
  expect(await choice).toBe('stay');
  await answer('Run deploy?', 'y');
  await until('it is approved', () => told.length === 1);
});

test('a closed prompt answers nothing', async () => {
  const { prompt } = scene();
  const question = prompt.ask(styled`Really? `);
  prompt.close();
  await expect(question).rejects.toThrow(NoAnswer);
  await expect(prompt.ask(styled`Again? `)).rejects.toThrow(NoAnswer);
});

test('a person refuses and ends the run', async () => {
  const { approvals, answer, told } = scene();
  await approvals.offer([call]);
  await answer('no and [s]top', 's');
  await answer('Why not?', '');
  await until('it is refused', () => told.length === 1);
  expect(told).toEqual([{ reject: 'c1', by: 'dana', groups: ['leads'], stop: true }]);
});

test('a person approves permanently, is shown what that allows, and can reconsider', async () => {
  const asked: PendingCall = { ...call, name: 'shell', remember: [{ tool: 'shell', prefix: ['git', 'push'] }] };
  const { approvals, answer, told } = scene(asked);
  await approvals.offer([asked]);
  await answer('Run shell?', 'r');
  await answer(/shell: git push needs no approval from now on/, '');
  await answer('Run shell?', 'r');
  await answer('all threads of this [a]gent', 'a');
  await until('it is approved', () => told.length === 1);
  expect(told).toEqual([{ approve: 'c1', by: 'dana', groups: ['leads'], remember: 'agent' }]);
});

test.each([
  ['by the number of an option', '2', 'blue'],
  ['in words of their own', 'green', 'green'],
  ['by a number that is no option', '7', '7'],
])('a person answers a question %s', async (_, line, text) => {
  const question: PendingCall = {
    ...call,
    kind: 'question',
    name: 'ask_human',
    arguments: '{"question":"Which colour?","options":["red","blue"]}',
  };
  const { approvals, answer, sees, told } = scene(question);
  await approvals.offer([question]);
  await sees('The agent asks: Which colour?\n    1  red\n    2  blue\n');
  await answer('A number, or words of your own', '');
  await answer('A number, or words of your own', line);
  await until('it is answered', () => told.length === 1);
  expect(told).toEqual([{ answer: 'c1', text, by: 'dana', groups: ['leads'] }]);
});

describe('the question of a call', () => {
  const question = {
    id: 'question_1',
    from: 'shop\u001b[2J',
    message: 'How many?\nyes: forged',
    schema: {
      type: 'object' as const,
      properties: {
        seats: { type: 'integer' as const, maximum: 9 },
        place: {
          type: 'string' as const,
          oneOf: [
            { const: 'w', title: 'Window' },
            { const: 'a', title: 'Aisle' },
          ],
        },
        extras: { type: 'array' as const, items: { type: 'string' as const, enum: ['meal', 'bag'] } },
        insured: { type: 'boolean' as const, default: false },
      },
      required: ['seats'],
    },
  };
  const asked: PendingCall = { ...call, kind: 'tool-question', question };
  const who = { question, by: 'dana', groups: ['leads'] };

  test('is answered field by field, each until it fits', async () => {
    const { approvals, answer, sees, told } = scene(asked);
    await approvals.offer([asked]);
    await sees('? shop<U+001B>[2J asks: How many? (deploy)\n    │ yes: forged\n    4 fields: seats, place, extras, insured\n');
    await answer('[a]nswer, [d]ecline, [c]ancel', 'a');
    await sees('- seats (a whole number, at most 9, required)\n');
    await answer('Your answer: ', '');
    await answer(/must be a number[\s\S]*Your answer: /, '10');
    await answer(/must be at most 9[\s\S]*Your answer: /, '2');
    await answer(/1 · w: Window\n.*2 · a: Aisle\n[\s\S]*A number \(Enter: none\): /, '2');
    await answer('Numbers, separated by commas (Enter: none): ', '1, bag');
    await answer('[y]es or [n]o (Enter: false): ', '');
    await until('it is answered', () => told.length === 1);
    expect(told).toEqual([{ id: 'c1', ...who, content: { seats: 2, place: 'a', extras: ['meal', 'bag'], insured: false } }]);
  });

  test.each([
    ['d', 'decline'],
    ['cancel', 'cancel'],
  ])('is answered with %s', async (line, action) => {
    const { approvals, answer, sees, told } = scene(asked);
    await approvals.offer([asked]);
    await answer('[a]nswer, [d]ecline, [c]ancel', 'y\u001b');
    await sees('"y<U+001B>" is not one of the answers');
    await answer('[a]nswer, [d]ecline, [c]ancel', line);
    await until('it is answered', () => told.length === 1);
    expect(told).toEqual([{ id: 'c1', ...who, action }]);
  });

  test('that wants an address to be visited shows it, and is accepted', async () => {
    const { schema: _, ...rest } = question;
    const visit: PendingCall = { ...asked, question: { ...rest, url: 'https://example.com/sign' } };
    const { approvals, answer, sees, told } = scene(visit);
    await approvals.offer([visit]);
    await sees('    → to visit: https://example.com/sign\n');
    await answer('[a]ccept, [d]ecline, [c]ancel', 'a');
    await until('it is answered', () => told.length === 1);
    expect(told).toEqual([{ id: 'c1', ...who, question: visit.question }]);
  });
});

describe('the options of a question', () => {
  const question = (options: string[]): PendingCall => ({
    ...call,
    kind: 'question',
    name: 'ask_human',
    arguments: JSON.stringify({ question: 'What shall I do with the database?', options }),
  });

  test('can’t show another question with other options: text that is wider than the terminal continues after a mark', async () => {
    const rows = ['The agent asks: What shall I do with the database?', '    1  Keep everything as it is', '    2  Delete it'];
    for (const blank of [' ', '\u2800', 'x']) {
      const pad = (text: string, from = 0) => text + blank.repeat(80 - from - text.length);
      const forgery = `${pad('Something else', 7)}${blank.repeat(30 * 80)}${rows.map((row) => pad(row)).join('')}`;
      const asked = question(['Delete it', 'Keep everything as it is', forgery]);
      const { approvals, answer, sees, screen, told } = scene(asked, 80);
      await approvals.offer([asked]);
      await sees('A number, or words of your own');
      const shown = screen().split('\n');
      expect(shown.filter((row) => row.startsWith('The agent asks:'))).toEqual(rows.slice(0, 1));
      expect(shown.filter((row) => /^ *[12] /.test(row))).toEqual(['    1  Delete it', '    2  Keep everything as it is']);
      for (const row of shown.slice(0, -1)) expect(row.length).toBeLessThan(80);
      await answer('A number, or words of your own', '1');
      await sees('The agent gets: Delete it\n');
      await until('it is answered', () => told.length === 1);
    }
  });

  test('are cut if they are long, with a note, and can be chosen only after they were shown in full', async () => {
    const words = 'Keep all of it. '.repeat(200);
    const asked = question([`${words}Then delete it.`, `${words}Then stop.`, 'No']);
    const { approvals, answer, sees, told, screen } = scene(asked, 80);
    await approvals.offer([asked]);
    await sees('A number, or words of your own ([v]iew all of it): ');
    expect(screen()).not.toContain('Then');
    expect(screen()).toMatch(/\((?:\d|\s|┆)+more(?:\s|┆)+characters(?:\s|┆)+are(?:\s|┆)+not(?:\s|┆)+shown\)/);
    await answer('A number, or words of your own', '2');
    await sees(/Then(?:\s|┆)+delete(?:\s|┆)+it[\s\S]*Then(?:\s|┆)+stop/);
    expect(told).toEqual([]);
    await answer('A number, or words of your own', '2');
    await until('it is answered', () => told.length === 1);
    expect(told).toEqual([{ answer: 'c1', text: `${words}Then stop.`, by: 'dana', groups: ['leads'] }]);
  });

  test('are limited to what fits on the screen, with a note', async () => {
    const asked = question(Array.from({ length: 500 }, (_, i) => `number ${i + 1}`));
    const { approvals, answer, sees, told, screen } = scene(asked, 80);
    await approvals.offer([asked]);
    await sees('    … 460 more options are not shown\nA number, or words of your own ([v]iew all of it): ');
    expect(screen()).not.toContain('number 41');
    await answer('A number, or words of your own', 'v');
    await sees('  500  number 500\n');
    await answer('A number, or words of your own', '500');
    await until('it is answered', () => told.length === 1);
    expect(told).toEqual([{ answer: 'c1', text: 'number 500', by: 'dana', groups: ['leads'] }]);
  });
});

test.each([
  ['as much again', 'y', { approve: 'c1' }],
  ['so much', '5', { approve: 'c1', more: 5 }],
  ['nothing', 'n', { reject: 'c1' }],
])('a person grants %s of a limit', async (_, line, decision) => {
  const limit: PendingCall = { ...call, kind: 'limit', name: 'turns', arguments: '', reason: 'The run reached its limit of 3 turns.' };
  const { approvals, answer, sees, told } = scene(limit);
  await approvals.offer([limit]);
  await sees('The run reached its limit of 3 turns.');
  await answer('Allow more turns?', '-1');
  await sees('"-1" is not one of the answers');
  await answer('Allow more turns?', line);
  await until('it is decided', () => told.length === 1);
  expect(told).toEqual([{ ...decision, by: 'dana', groups: ['leads'] }]);
});

test('a person replies to a suspended run, and resumes a paused one', async () => {
  const reply: PendingCall = { ...call, kind: 'reply', toolCallId: 'mail-1', name: 'reply', arguments: '' };
  const { approvals, answer, sees, told, state } = scene(reply);
  await approvals.offer([reply]);
  await answer('Your reply:', 'yes, do it');
  await until('it is replied', () => told.length === 1);
  expect(await approvals.paused?.()).toBe('answering');
  state.paused = { reason: 'lunch' };
  await approvals.paused?.();
  await answer('It is paused.', 'what?');
  await sees('"what?" is not one of the answers');
  await answer('It is paused.', 'r');
  await until('it is resumed', () => told.length === 2);
  expect(told).toEqual([
    { send: 'yes, do it', correlationId: 'mail-1' },
    { resume: true, by: 'dana' },
  ]);
});

test('a call that this person has approved already is not asked about again', async () => {
  const voted: PendingCall = { ...call, approvers: 2, votes: ['dana'] };
  const other: PendingCall = { ...call, toolCallId: 'c2', name: 'publish' };
  const { approvals, sees, state, screen } = scene(voted);
  state.pending = [voted, other];
  await approvals.offer([voted, other]);
  await sees('Run publish?');
  expect(screen()).not.toContain('deploy');
});
