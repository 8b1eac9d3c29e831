import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import { checkExtent, checkInput, show } from '../../src/core/check-input';
import type { Checked } from '../../src/core/checked';
import { checkDecision, checkSubmit } from '../../src/core/decisions';
import { checkCancel, checkClose, checkCompact, checkPause, checkResume, checkSend } from '../../src/core/requests';
import type { ThreadState } from '../../src/core/state';
import { Story } from './story';

/** A thread that waits: for an output of one call, for an approval of another, and has one that is done. */
function waiting(): { state: ThreadState; output: string; approval: string; done: string; running: string } {
  const story = new Story();
  story.say('go');
  story.begin();
  story.turn({
    text: '',
    said: [],
    calls: [
      {
        arguments: '{"a":1}',
        status: 'success',
        output: 'x',
        verdict: { kind: 'reject', error: { name: 'ToolNotFoundError', message: 'no' } },
      },
    ],
  });
  story.takeIn();
  const answered = story.state.messages.findLast((m) => m.role === 'tool');
  const before = story.call;
  story.call = () => undefined;
  const plot = { arguments: '{"a":1}', status: 'success' as const, output: 'x' };
  story.turn({
    text: '',
    said: [],
    calls: [
      { ...plot, verdict: { kind: 'external' } },
      { ...plot, verdict: { kind: 'run', effect: 'once', timeoutMs: 1, approval: {} } },
      { ...plot, verdict: { kind: 'run', effect: 'once', timeoutMs: 1 } },
    ],
  });
  story.call = before;
  const ids = story.state.run!.calls.map((call) => call.id);
  const stepId = `${story.state.run!.id}-turn-2`;
  story.record('agent.approval.requested', { stepId, toolCall: { id: ids[1]!, name: 'tool', arguments: '{"a":1}' } });
  story.record('agent.tool.execution.started', { stepId, toolCallId: ids[2]!, name: 'tool' });
  return {
    state: story.state,
    output: ids[0]!,
    approval: ids[1]!,
    running: ids[2]!,
    done: answered?.role === 'tool' ? answered.toolCallId : '',
  };
}

function over(mode: 'one-shot' | 'conversation'): ThreadState {
  const { state } = new Story().play([{ input: 'hi', turns: [{ text: 'ho', calls: [], said: [] }], end: 'completed' }]);
  return { ...state, mode };
}

const code = (checked: Checked<unknown>) => (checked.ok ? 'accepted' : checked.code);
const reason = (checked: Checked<unknown>) => (checked.ok ? 'accepted' : checked.reason);
const { state, output, approval, done, running } = waiting();

describe('any value that is sent to a thread', () => {
  const checks = { checkCancel, checkSend, checkSubmit, checkDecision };

  test('never makes a check throw, and a refusal has a message', () => {
    const ids = fc.constantFrom(output, approval, done, running, 'call_x');
    const nearly = fc.oneof(
      fc.jsonValue(),
      fc.record({ input: fc.jsonValue(), id: fc.jsonValue() }, { requiredKeys: [] }),
      fc.record({ reason: fc.jsonValue(), by: fc.jsonValue() }, { requiredKeys: [] }),
      fc.record({
        outputs: fc.oneof(
          fc.jsonValue(),
          fc.array(fc.record({ toolCallId: ids, output: fc.jsonValue(), isError: fc.jsonValue() }, { requiredKeys: [] })),
        ),
      }),
      fc.record(
        { toolCallId: ids, approved: fc.jsonValue(), reason: fc.jsonValue(), arguments: fc.jsonValue() },
        { requiredKeys: ['toolCallId'] },
      ),
      fc.record({
        input: fc.array(
          fc.record({ type: fc.constantFrom('text', 'image', 'x'), text: fc.jsonValue(), url: fc.jsonValue() }, { requiredKeys: [] }),
        ),
      }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(checks)),
        nearly,
        fc.constantFrom(state, over('one-shot'), over('conversation')),
        (check, payload, at) => {
          const before = JSON.stringify(at);
          const checked = check(at, payload);
          if (checked.ok) expect(JSON.parse(JSON.stringify(checked.request))).toEqual(checked.request);
          else expect(checked.reason).toMatch(/\w{3,}.* \w+/s);
          expect(JSON.stringify(at)).toBe(before);
        },
      ),
      { numRuns: 800 },
    );
  });

  test('is shortened in an error, whatever it is', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const value of [circle, 10n, undefined, () => 1, Symbol('x'), 'x'.repeat(5_000)]) {
      expect(show(value).length).toBeLessThanOrEqual(120);
      expect(show(value)).not.toBe('');
    }
  });
});

describe('sendMessage', () => {
  test.each([
    [undefined, 'sendMessage takes'],
    [42, 'it was given 42'],
    [{}, 'the input must be a string or a list of parts'],
    ['   ', 'the input is empty'],
    [[], 'the input is empty'],
    [{ input: { text: 'hi' } }, 'the input must be a string or a list of parts'],
    [[{ type: 'text' }], 'part 0 of the input has no text'],
    [[{ type: 'text', text: 'a' }, 'b'], 'part 1 of the input must be an object'],
    [[{ type: 'video' }], 'part 0 of the input has the type "video"'],
    [[{ type: 'image', url: 'file:///etc/passwd' }], 'without a usable url'],
    [{ input: 'hi', id: 'with space' }, '`id` must be 1 to 128'],
    [{ input: 'hi', id: 7 }, 'it is 7'],
  ])('refuses %j with the reason', (payload, words) => {
    expect(reason(checkSend(state, payload))).toContain(words);
  });

  test('accepts a text, parts, and an object with an id', () => {
    expect(checkSend(state, 'hi')).toEqual({ ok: true, request: { input: 'hi' } });
    const parts = [{ type: 'image', url: 'data:image/png;base64,AA==' }];
    expect(checkSend(state, parts)).toEqual({ ok: true, request: { input: parts } });
    expect(checkSend(state, { input: 'hi', id: 'a.b:c-1' })).toEqual({ ok: true, request: { input: 'hi', id: 'a.b:c-1' } });
  });

  test('refuses a value that is too large, with its size and what to do', () => {
    expect(checkInput('é'.repeat(bounds.messageBytes / 2 + 1))).toMatch(/has 15\d{5} bytes; at most 1500000 .* send a reference/);
    expect(checkInput('x'.repeat(bounds.messageBytes - 2))).toBeUndefined();
  });

  test('queues no more than fits into one execution of a workflow', () => {
    const large = 'x'.repeat(bounds.messageBytes - 100);
    const queue = [{ id: 'a', role: 'user' as const, content: large }];
    expect(reason(checkSend({ ...state, queue }, large))).toMatch(/already wait/);
    expect(reason(checkSend({ ...state, queue }, 'short'))).toBe('accepted');
    const many = Array.from({ length: 100 }, (_, i) => ({ id: `m${i}`, role: 'user' as const, content: 'x' }));
    expect(reason(checkSend({ ...state, queue: many }, 'short'))).toMatch(/100 messages already wait/);
  });

  test('measures each queued message once, however many requests arrive', () => {
    const queue = Array.from({ length: 50 }, (_, i) => ({ id: `m${i}`, role: 'user' as const, content: 'x'.repeat(30_000) }));
    const written = jest.spyOn(JSON, 'stringify');
    for (let i = 0; i < 20; i++)
      expect(reason(checkSend({ ...state, queue }, 'y'.repeat(200_000)))).toMatch(/of 15\d{5} bytes already wait/);
    expect(written.mock.calls.filter(([value]) => value !== null && typeof value === 'object').length).toBeLessThanOrEqual(50);
    written.mockRestore();
  });

  test('refuses a message to a thread that is closed', () => {
    expect(reason(checkSend(over('one-shot'), 'hi'))).toContain('"thread_1" is closed to new messages');
    expect(reason(checkSend({ ...over('conversation'), closed: true }, 'hi'))).toContain('closed');
    expect(reason(checkSend(over('conversation'), 'hi'))).toBe('accepted');
  });
});

describe('submitToolOutputs', () => {
  const one = (fields: object) => ({ outputs: [{ toolCallId: output, output: 'x', ...fields }] });

  test('[A105] accepts each pending call once, and no other call', () => {
    expect(checkSubmit(state, one({}))).toEqual({ ok: true, request: { outputs: [{ toolCallId: output, output: 'x' }] } });
    expect(reason(checkSubmit(state, { outputs: [one({}).outputs[0], one({}).outputs[0]] }))).toContain(`"${output}" is answered twice`);
    expect(reason(checkSubmit(state, one({ toolCallId: 'call_x' })))).toContain(
      `"call_x" does not wait for an answer or an output; "${output}" (tool) waits for an answer or an output`,
    );
    expect(reason(checkSubmit(state, one({ toolCallId: approval })))).toContain('waits for an approval, not for an answer or an output');
    expect(reason(checkSubmit(state, one({ toolCallId: running })))).toContain('is running');
    expect(reason(checkSubmit(state, one({ toolCallId: done })))).toContain('was answered already');
  });

  test.each([
    [undefined, 'submitToolOutputs takes { outputs'],
    [{ outputs: [] }, 'submitToolOutputs takes { outputs'],
    [{ outputs: ['x'] }, 'outputs[0] has no toolCallId'],
    [{ outputs: [{ toolCallId: output }] }, 'has no output'],
    [one({ isError: 'yes' }), 'isError must be true or false'],
  ])('refuses %j with the reason', (payload, words) => {
    expect(reason(checkSubmit(state, payload))).toContain(words);
  });

  test('accepts the spelling of the Assistants API', () => {
    expect(checkSubmit(state, { outputs: [{ tool_call_id: output, output: { a: 1 } }] }).ok).toBe(true);
  });

  test('measures outputs as the model will see them: JSON within JSON is longer', () => {
    const quotes = { text: '"'.repeat(500_000) };
    expect(JSON.stringify(quotes).length).toBeLessThan(bounds.messageBytes);
    expect(reason(checkSubmit(state, one({ output: quotes })))).toContain('larger than');
  });
});

describe('approve', () => {
  test('decides only calls that wait for it', () => {
    expect(checkDecision(state, approval)).toEqual({ ok: true, request: { toolCallId: approval, approved: true } });
    expect(checkDecision(state, { toolCallId: approval, arguments: { a: 2 } })).toMatchObject({
      ok: true,
      request: { arguments: { a: 2 } },
    });
    expect(reason(checkDecision(state, output))).toContain('waits for its output, not for an approval');
    expect(reason(checkDecision(state, running))).toContain('was decided already');
    expect(reason(checkDecision(state, done))).toContain('was answered already');
    expect(reason(checkDecision(state, 'call_x'))).toContain('"call_x" does not wait for an approval');
    expect(reason(checkDecision(over('one-shot'), 'call_x'))).toContain('nothing in thread "thread_1" waits for an approval');
  });

  test.each([
    [undefined, 'approve takes { toolCallId'],
    [{ approved: true }, 'approve takes { toolCallId'],
    [{ toolCallId: approval, approved: 'yes' }, '`approved` must be true or false; it is "yes"'],
    [{ toolCallId: approval, by: 7 }, '`by` must be a string; it is 7'],
    [{ toolCallId: approval, reason: 'x'.repeat(4_001) }, '`reason` has 4001 characters'],
    [{ toolCallId: approval, arguments: '{}' }, '`arguments` must be an object'],
    [{ toolCallId: approval, approved: false, arguments: {} }, 'a refusal has no arguments'],
  ])('refuses %j with the reason', (payload, words) => {
    expect(reason(checkDecision(state, payload))).toContain(words);
  });
});

test('each refusal has a code', () => {
  const one = (toolCallId: string) => ({ outputs: [{ toolCallId, output: 'x' }] });
  const paused = { ...state, paused: { reason: 'lunch', since: 1 } };
  expect(
    [checkSubmit(state, 7), checkSubmit(state, one('call_x')), checkSubmit(state, one(done)), checkSubmit(state, one(approval))].map(code),
  ).toEqual(['invalid-request', 'not-waiting', 'already-decided', 'not-waiting']);
  const decided = [
    running,
    output,
    { toolCallId: approval, expect: 'no digest' },
    { toolCallId: approval, approved: false, remember: 'thread' },
  ];
  expect(decided.map((payload) => code(checkDecision(state, payload)))).toEqual([
    'already-decided',
    'not-waiting',
    'not-as-expected',
    'invalid-request',
  ]);
  expect([checkSend(over('one-shot'), 'hi'), checkSend(state, { input: 'hi', correlationId: 'mail' })].map(code)).toEqual([
    'thread-closed',
    'not-waiting',
  ]);
  expect([checkCancel(over('conversation'), {}), checkCancel(state, { runId: 'run_x' })].map(code)).toEqual(['no-run', 'no-run']);
  expect([checkPause(paused, {}), checkPause(over('one-shot'), {}), checkResume(state, {})].map(code)).toEqual([
    'already-paused',
    'thread-closed',
    'not-paused',
  ]);
  expect([checkClose({ ...over('conversation'), closed: true }, {}), checkCompact(over('one-shot'), {})].map(code)).toEqual([
    'already-closed',
    'thread-closed',
  ]);
});

describe('cancel', () => {
  test('accepts nothing, a reason, or an object', () => {
    expect(checkCancel(state, undefined)).toEqual({ ok: true, request: {} });
    expect(checkCancel(state, null)).toEqual({ ok: true, request: {} });
    expect(checkCancel(state, 'enough')).toEqual({ ok: true, request: { reason: 'enough' } });
    expect(checkCancel(state, { reason: 'enough', by: 'dana' })).toEqual({ ok: true, request: { reason: 'enough', by: 'dana' } });
  });

  test('refuses other shapes, and a run that has ended, with a code', () => {
    expect(reason(checkCancel(state, 7))).toContain('it was given 7');
    expect(reason(checkCancel(state, { reason: 7 }))).toContain('`reason` must be a string');
    expect(reason(checkCancel(over('conversation'), {}))).toMatch(/no run to cancel: run run_\d+ of thread "thread_1" is completed/);
  });
});

describe('the extent of a request', () => {
  const lists = (count: number) => Array.from({ length: count }, () => []);

  test('is as large as any message or output may be, and no larger', () => {
    expect(checkExtent('approve', { a: lists(bounds.requestValues - 2) })).toBeUndefined();
    expect(checkExtent('approve', { a: lists(bounds.requestValues - 1) })).toBe(
      'approve has more than 250000 values; send them as one text, or store them elsewhere and send a reference',
    );
    const text = 'x'.repeat(bounds.messageBytes);
    expect(checkExtent('submitToolOutputs', { outputs: [{ toolCallId: 'a', output: text }] })).toBeUndefined();
    expect(checkExtent('sendMessage', { input: text, [text]: 1 })).toMatch(/^sendMessage has texts of more than 2000000 characters; store/);
    expect(checkExtent('cancel', new Uint8Array(5))).toBe('cancel is bytes, not JSON');
  });

  test('is checked only up to the limit', () => {
    let looks = 0;
    const endless = new Proxy([], {
      get: (list, key) => {
        if (key === 'length') return Number.MAX_SAFE_INTEGER;
        if (typeof key === 'symbol') return Reflect.get(list, key);
        looks += 1;
        return 1;
      },
    });
    expect(checkExtent('approve', { a: endless, b: endless })).toMatch(/more than 250000 values/);
    expect(looks).toBe(bounds.requestValues - 1);
  });

  test('has as many levels as JSON from outside may have', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
    expect(checkExtent('approve', nested(bounds.jsonDepth))).toBeUndefined();
    expect(checkExtent('approve', nested(bounds.jsonDepth + 1))).toBe('approve is nested deeper than 100 levels');
    expect(checkExtent('approve', nested(1_000))).toBe('approve is nested deeper than 100 levels');
  });

  test('a value of any size is shown by its beginning', () => {
    const large = Array.from({ length: 100_000 }, () => 7);
    expect(show(large)).toMatch(/^\[7,7,7/);
    expect(show({ a: new Uint8Array(10) })).toBe('{"a":"bytes"}');
  });
});
