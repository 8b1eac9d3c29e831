import fc from 'fast-check';
import { bounds } from '../../src/core/bounds';
import { checkInput, show } from '../../src/core/check-input';
import { type Checked, checkCancel, checkDecision, checkSend, checkSubmit } from '../../src/core/requests';
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

const reason = (checked: Checked<unknown>) => (checked.ok ? 'accepted' : checked.reason);
const { state, output, approval, done, running } = waiting();

describe('whatever is sent to a thread', () => {
  const checks = { checkCancel, checkSend, checkSubmit, checkDecision };

  test('never makes a check throw, and what is refused is refused with words', () => {
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

  test('is shown in an error without its whole length, whatever it is', () => {
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
    [{}, 'the input must be a text or a list of parts'],
    ['   ', 'the input is empty'],
    [[], 'the input is empty'],
    [{ input: { text: 'hi' } }, 'the input must be a text or a list of parts'],
    [[{ type: 'text' }], 'part 0 of the input has no text'],
    [[{ type: 'text', text: 'a' }, 'b'], 'part 1 of the input must be an object'],
    [[{ type: 'video' }], 'part 0 of the input has the type "video"'],
    [[{ type: 'image', url: 'file:///etc/passwd' }], 'without a usable url'],
    [{ input: 'hi', id: 'with space' }, '`id` must be 1 to 128'],
    [{ input: 'hi', id: 7 }, 'it is 7'],
  ])('refuses %j and says why', (payload, words) => {
    expect(reason(checkSend(state, payload))).toContain(words);
  });

  test('takes a text, parts, and an object with an id', () => {
    expect(checkSend(state, 'hi')).toEqual({ ok: true, request: { input: 'hi' } });
    const parts = [{ type: 'image', url: 'data:image/png;base64,AA==' }];
    expect(checkSend(state, parts)).toEqual({ ok: true, request: { input: parts } });
    expect(checkSend(state, { input: 'hi', id: 'a.b:c-1' })).toEqual({ ok: true, request: { input: 'hi', id: 'a.b:c-1' } });
  });

  test('refuses what is too large, with its size and what to do', () => {
    expect(checkInput('é'.repeat(bounds.messageBytes / 2 + 1))).toMatch(/has 15\d{5} bytes; at most 1500000 .* send a reference/);
    expect(checkInput('x'.repeat(bounds.messageBytes - 2))).toBeUndefined();
  });

  test('lets no more wait than fits into one execution of a workflow', () => {
    const large = 'x'.repeat(bounds.messageBytes - 100);
    const queue = [{ id: 'a', role: 'user' as const, content: large }];
    expect(reason(checkSend({ ...state, queue }, large))).toMatch(/already wait/);
    expect(reason(checkSend({ ...state, queue }, 'short'))).toBe('accepted');
    const many = Array.from({ length: 100 }, (_, i) => ({ id: `m${i}`, role: 'user' as const, content: 'x' }));
    expect(reason(checkSend({ ...state, queue: many }, 'short'))).toMatch(/100 messages already wait/);
  });

  test('refuses a thread that takes no more', () => {
    expect(reason(checkSend(over('one-shot'), 'hi'))).toContain('"thread_1" is closed to new messages');
    expect(reason(checkSend({ ...over('conversation'), closed: true }, 'hi'))).toContain('closed');
    expect(reason(checkSend(over('conversation'), 'hi'))).toBe('accepted');
  });
});

describe('submitToolOutputs', () => {
  const one = (fields: object) => ({ outputs: [{ toolCallId: output, output: 'x', ...fields }] });

  test('[A105] takes each pending call once, and no other', () => {
    expect(checkSubmit(state, one({}))).toEqual({ ok: true, request: { outputs: [{ toolCallId: output, output: 'x' }] } });
    expect(reason(checkSubmit(state, { outputs: [one({}).outputs[0], one({}).outputs[0]] }))).toContain(`"${output}" is answered twice`);
    expect(reason(checkSubmit(state, one({ toolCallId: 'call_x' })))).toContain(
      `"call_x" does not wait for an output; "${output}" (tool) does`,
    );
    expect(reason(checkSubmit(state, one({ toolCallId: approval })))).toContain('waits for an approval, not for an output');
    expect(reason(checkSubmit(state, one({ toolCallId: running })))).toContain('is running');
    expect(reason(checkSubmit(state, one({ toolCallId: done })))).toContain('was answered already');
  });

  test.each([
    [undefined, 'submitToolOutputs takes { outputs'],
    [{ outputs: [] }, 'submitToolOutputs takes { outputs'],
    [{ outputs: ['x'] }, 'outputs[0] has no toolCallId'],
    [{ outputs: [{ toolCallId: output }] }, 'has no output'],
    [one({ isError: 'yes' }), 'isError must be true or false'],
  ])('refuses %j and says why', (payload, words) => {
    expect(reason(checkSubmit(state, payload))).toContain(words);
  });

  test('takes the spelling of the Assistants API', () => {
    expect(checkSubmit(state, { outputs: [{ tool_call_id: output, output: { a: 1 } }] }).ok).toBe(true);
  });

  test('measures outputs as the model will see them: JSON within JSON is longer', () => {
    const quotes = { text: '"'.repeat(500_000) };
    expect(JSON.stringify(quotes).length).toBeLessThan(bounds.messageBytes);
    expect(reason(checkSubmit(state, one({ output: quotes })))).toContain('larger than');
  });
});

describe('approve', () => {
  test('decides what waits for it, and nothing else', () => {
    expect(checkDecision(state, approval)).toEqual({ ok: true, request: { toolCallId: approval, approved: true } });
    expect(checkDecision(state, { toolCallId: approval, arguments: { a: 2 } })).toMatchObject({
      ok: true,
      request: { arguments: { a: 2 } },
    });
    expect(reason(checkDecision(state, output))).toContain('waits for its output, not for an approval');
    expect(reason(checkDecision(state, running))).toContain('was decided already');
    expect(reason(checkDecision(state, done))).toContain('was answered already');
    expect(reason(checkDecision(state, 'call_x'))).toContain('"call_x" does not wait for an approval');
    expect(reason(checkDecision(over('one-shot'), 'call_x'))).toContain('nothing in thread "thread_1" does');
  });

  test.each([
    [undefined, 'approve takes { toolCallId'],
    [{ approved: true }, 'approve takes { toolCallId'],
    [{ toolCallId: approval, approved: 'yes' }, '`approved` must be true or false; it is "yes"'],
    [{ toolCallId: approval, by: 7 }, '`by` must be a text; it is 7'],
    [{ toolCallId: approval, reason: 'x'.repeat(4_001) }, '`reason` has 4001 characters'],
    [{ toolCallId: approval, arguments: '{}' }, '`arguments` must be an object'],
    [{ toolCallId: approval, approved: false, arguments: {} }, 'a refusal has no arguments'],
  ])('refuses %j and says why', (payload, words) => {
    expect(reason(checkDecision(state, payload))).toContain(words);
  });
});

describe('cancel', () => {
  test('takes nothing, a reason, or an object', () => {
    expect(checkCancel(state, undefined)).toEqual({ ok: true, request: {} });
    expect(checkCancel(state, null)).toEqual({ ok: true, request: {} });
    expect(checkCancel(state, 'enough')).toEqual({ ok: true, request: { reason: 'enough' } });
    expect(checkCancel(state, { reason: 'enough', by: 'dana' })).toEqual({ ok: true, request: { reason: 'enough', by: 'dana' } });
  });

  test('refuses other shapes, and a run that is over, by name', () => {
    expect(reason(checkCancel(state, 7))).toContain('it was given 7');
    expect(reason(checkCancel(state, { reason: 7 }))).toContain('`reason` must be a text');
    expect(reason(checkCancel(over('conversation'), {}))).toMatch(/no run to cancel: run run_\d+ of thread "thread_1" is completed/);
  });
});
