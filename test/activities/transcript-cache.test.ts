import fc from 'fast-check';
import { type AskThread, TranscriptCache } from '../../src/activities/steps/transcript-cache';
import type { Message } from '../../src/core/message';
import { hashOf, type TranscriptRef, tokenOf } from '../../src/core/transcript';
import { answerParts } from '../support/answer-parts';

const threadId = 'thread_1';

/** A thread's transcript as its workflow has it, and what may become of it. */
class Truth {
  messages: Message[] = [];
  epoch = 0;
  asked = 0;
  #ids = 0;

  message(text = '', role: 'user' | 'tool' | 'assistant' = 'user', attempt = 1): Message {
    const id = `msg_${++this.#ids}`;
    if (role === 'user') return { id, role, content: text };
    if (role === 'tool') return { id, role, toolCallId: id, name: 'tool', content: text, isError: false };
    return { id, role, content: answerParts(text), attempt };
  }

  add(...messages: Message[]): void {
    this.messages.push(...messages);
  }

  rewrite(kept: Message[]): void {
    this.messages = kept;
    this.epoch += 1;
  }

  ref(recent = 24): TranscriptRef {
    const { messages, epoch } = this;
    return { epoch, length: messages.length, hash: hashOf(messages), recent: messages.slice(-recent).map(tokenOf) };
  }

  /** As the workflow answers, in pages of `pageSize`. */
  ask(pageSize = Number.POSITIVE_INFINITY): AskThread {
    return async ({ epoch, from, length }) => {
      this.asked += 1;
      if (epoch !== this.epoch || length > this.messages.length) return { stale: true };
      return { messages: this.messages.slice(from, Math.min(length, from + pageSize)) };
    };
  }
}

const unreachable: AskThread = async () => {
  throw new Error('no free worker');
};

type Act =
  | { kind: 'say'; text: string }
  /** An answer with so many tool results, finished in another order than the model's; some by attempts that were lost, some elsewhere. */
  | { kind: 'turn'; results: number; order: number; lost: boolean; elsewhere: boolean; late: boolean }
  | { kind: 'rewrite'; clear: boolean }
  | { kind: 'other-thread'; size: number }
  | { kind: 'read'; broken: boolean; pageSize: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.string().map((text) => ({ kind: 'say' as const, text })),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      results: fc.oneof({ weight: 5, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.integer({ min: 20, max: 30 }) }),
      order: fc.nat(),
      lost: fc.boolean(),
      elsewhere: fc.boolean(),
      late: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constant('rewrite' as const), clear: fc.boolean() }),
  fc.record({ kind: fc.constant('other-thread' as const), size: fc.nat(3_000) }),
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('read' as const), broken: fc.boolean(), pageSize: fc.integer({ min: 1, max: 6 }) }),
  },
);

async function perform(cache: TranscriptCache, truth: Truth, late: Message[], step: Act): Promise<void> {
  switch (step.kind) {
    case 'say':
      return truth.add(truth.message(step.text));
    case 'turn': {
      const answer = truth.message('answer', 'assistant', step.lost ? 2 : 1);
      const results = Array.from({ length: step.results }, (_, i) => truth.message(`result ${i}`, 'tool'));
      // The first attempt was given up on, and its words came to this worker's cache all the same.
      if (step.lost) cache.deposit(threadId, { ...answer, content: answerParts('of a lost attempt'), attempt: 1 } as Message);
      const deposits = [answer, ...results].filter((_, i) => !step.elsewhere || i % 2 === 0);
      const turned = deposits.length > 0 ? step.order % deposits.length : 0;
      for (const message of [...deposits.slice(turned), ...deposits.slice(0, turned).reverse()]) {
        if (step.late && message.role === 'tool') late.push(message);
        else cache.deposit(threadId, message);
      }
      return truth.add(answer, ...results);
    }
    case 'rewrite':
      return truth.rewrite(
        step.clear
          ? truth.messages.map((m) => (m.role === 'tool' ? { ...m, content: 'cleared' } : m))
          : truth.messages.filter((_, i) => i === 0 || i > truth.messages.length / 2),
      );
    case 'other-thread':
      return cache.deposit('thread_2', truth.message('x'.repeat(step.size)));
    case 'read': {
      const found = await cache.read(threadId, truth.ref(), step.broken ? unreachable : truth.ask(step.pageSize));
      if ('messages' in found) return expect(found.messages).toEqual(truth.messages);
      // It may be missing only if no worker answers; then the workflow passes the messages from the position in the failure on.
      expect(step.broken).toBe(true);
      expect(found.missingFrom).toBeLessThan(truth.messages.length);
      const helped = await cache.read(threadId, truth.ref(), unreachable, {
        from: found.missingFrom,
        messages: truth.messages.slice(found.missingFrom),
      });
      return expect(helped).toEqual(cache.maxSize === 0 && found.missingFrom > 0 ? expect.anything() : { messages: truth.messages });
    }
  }
}

describe('a reader of the transcript', () => {
  test('gets the correct messages or a miss, whatever the cache contains and in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 14 }), fc.constantFrom(0, 600, 4_000, 1_000_000), async (acts, size) => {
        const cache = new TranscriptCache(size);
        const truth = new Truth();
        const late: Message[] = [];
        truth.add(truth.message('first'));
        for (const step of acts) {
          await perform(cache, truth, late, step);
          for (const message of late.splice(0, step.kind === 'turn' ? 0 : 1)) cache.deposit(threadId, message);
        }
        await perform(cache, truth, late, { kind: 'read', broken: false, pageSize: 3 });
      }),
      { numRuns: 300 },
    );
  });

  test('queries nothing on the worker that made the messages, turn by turn', async () => {
    const cache = new TranscriptCache();
    const truth = new Truth();
    truth.add(truth.message('go'));
    await cache.read(threadId, truth.ref(), truth.ask());
    expect(truth.asked).toBe(1);
    for (let turn = 0; turn < 50; turn++) {
      const answer = truth.message('answer', 'assistant');
      const results = [truth.message('a', 'tool'), truth.message('b', 'tool'), truth.message('c', 'tool')];
      cache.deposit(threadId, answer);
      for (const message of results.toReversed()) cache.deposit(threadId, message);
      truth.add(answer, ...results);
      expect(await cache.read(threadId, truth.ref(), truth.ask())).toEqual({ messages: truth.messages });
    }
    expect(truth.asked).toBe(1);
  });

  test('queries only messages that were made elsewhere', async () => {
    const cache = new TranscriptCache();
    const truth = new Truth();
    truth.add(...Array.from({ length: 30 }, (_, i) => truth.message(`m${i}`)));
    await cache.read(threadId, truth.ref(), truth.ask());
    truth.add(truth.message('from elsewhere'), truth.message('and more'));
    const asked: number[] = [];
    const ask = truth.ask();
    await cache.read(threadId, truth.ref(), (request) => {
      asked.push(request.from);
      return ask(request);
    });
    expect(asked).toEqual([30]);
  });

  test('does not get the text of a lost attempt, which has the same id', async () => {
    const cache = new TranscriptCache();
    const truth = new Truth();
    truth.add(truth.message('go'));
    await cache.read(threadId, truth.ref(), truth.ask());
    const first = truth.message('of the first attempt', 'assistant', 1);
    const second = { ...first, content: answerParts('of the second attempt'), attempt: 2 } as Message;
    cache.deposit(threadId, first);
    truth.add(second);
    expect(await cache.read(threadId, truth.ref(), unreachable)).toEqual({ missingFrom: 1 });
    cache.deposit(threadId, second);
    expect(await cache.read(threadId, truth.ref(), unreachable)).toEqual({ messages: truth.messages });
  });

  test('does not get outputs that were cleared since, although their ids are the same', async () => {
    const cache = new TranscriptCache();
    const truth = new Truth();
    truth.add(truth.message('go'), truth.message('long output', 'tool'));
    await cache.read(threadId, truth.ref(), truth.ask());
    truth.rewrite(truth.messages.map((m) => (m.role === 'tool' ? { ...m, content: 'cleared' } : m)));
    expect(await cache.read(threadId, truth.ref(), truth.ask())).toEqual({ messages: truth.messages });
  });

  test('is told that its transcript is missing if it was rewritten meanwhile, and gets no other transcript', async () => {
    const cache = new TranscriptCache();
    const truth = new Truth();
    truth.add(truth.message('go'), truth.message('more'));
    const before = truth.ref();
    truth.rewrite(truth.messages.slice(0, 1));
    expect(await cache.read(threadId, before, truth.ask())).toEqual({ missingFrom: 0 });
  });

  test('does not get the late text of a worker that was frozen, although id and attempt number are the same', async () => {
    const cache = new TranscriptCache();
    const truth = new Truth();
    truth.add(truth.message('hello'));
    await cache.read(threadId, truth.ref(), truth.ask());
    // The step was scheduled again, so its attempts count from 1 again.
    const recorded = { ...truth.message('recorded', 'assistant', 1), token: 'a1b2c3d4' } as Message;
    const late = { ...recorded, content: answerParts('late'), token: 'e5f6a7b8' } as Message;
    truth.add(recorded);
    cache.deposit(threadId, late);
    const read = await cache.read(threadId, truth.ref(), truth.ask());
    expect(read).toEqual({ messages: truth.messages });
    expect(truth.asked).toBe(2);
  });

  test('concurrent reads, as by a lost attempt and its successor, both get the correct messages', async () => {
    const cache = new TranscriptCache(1_000);
    const truth = new Truth();
    truth.add(...Array.from({ length: 12 }, (_, i) => truth.message(`m${i}`)));
    const [a, b] = await Promise.all([cache.read(threadId, truth.ref(), truth.ask(2)), cache.read(threadId, truth.ref(), truth.ask(5))]);
    expect(a).toEqual({ messages: truth.messages });
    expect(b).toEqual({ messages: truth.messages });
  });
});

describe('the cache', () => {
  test('of size 0 keeps nothing, not even after a failed read', async () => {
    const cache = new TranscriptCache(0);
    const truth = new Truth();
    truth.add(truth.message('go'), truth.message('more'));
    let pages = 0;
    const once: AskThread = async (request) => (pages++ === 0 ? truth.ask(1)(request) : unreachable(request));
    expect(await cache.read(threadId, truth.ref(), once)).toEqual({ missingFrom: 0 });
    expect(await cache.read(threadId, truth.ref(), unreachable)).toEqual({ missingFrom: 0 });
    await cache.read(threadId, truth.ref(), truth.ask());
    expect(await cache.read(threadId, truth.ref(), unreachable)).toEqual({ missingFrom: 0 });
    const inline = { from: 0, messages: truth.messages };
    expect(await cache.read(threadId, truth.ref(), unreachable, inline)).toEqual({ messages: truth.messages });
    expect(await cache.read(threadId, truth.ref(), unreachable)).toEqual({ missingFrom: 0 });
  });

  test('evicts the least recently used thread, and not the one in use', async () => {
    const cache = new TranscriptCache(2_500);
    const truths = ['a', 'b', 'c'].map((id) => {
      const truth = new Truth();
      truth.add(truth.message('x'.repeat(1_000)));
      return { id, truth };
    });
    for (const { id, truth } of truths) await cache.read(id, truth.ref(), truth.ask());
    const kept = await Promise.all(truths.map(({ id, truth }) => cache.read(id, truth.ref(), unreachable)));
    expect(kept.map((found) => 'messages' in found)).toEqual([false, true, true]);
  });

  test('keeps its size accounting correct if a thread is evicted in the middle of a read', async () => {
    const cache = new TranscriptCache(3_000);
    const [one, two] = [new Truth(), new Truth()];
    one.add(...Array.from({ length: 4 }, () => one.message('x'.repeat(500))));
    two.add(two.message('y'.repeat(2_000)));
    // While the pages of one come in, two pushes it out, again and again.
    for (let round = 0; round < 20; round++) {
      const ask = one.ask(1);
      await cache.read('one', one.ref(), async (request) => {
        cache.deposit('two', two.message('z'.repeat(2_000)));
        return ask(request);
      });
    }
    await cache.read('small', two.ref(), two.ask());
    expect(await cache.read('small', two.ref(), unreachable)).toEqual({ messages: two.messages });
    const three = new Truth();
    three.add(three.message('short'));
    await cache.read('three', three.ref(), three.ask());
    expect(await cache.read('small', two.ref(), unreachable)).toEqual({ messages: two.messages });
  });
});
