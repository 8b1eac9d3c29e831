import fc from 'fast-check';
import { type AnswerPart, type AssistantMessage, type Message, toolCallsOf } from '../../src/core/message';
import type { ModelProvider } from '../../src/models/model';
import { forModel } from '../../src/models/own-data';
import { createModels } from '../../src/models/registry';

const call: ModelProvider['call'] = () => Promise.reject(new Error('not called'));
const models = createModels({
  openai: { call },
  anthropic: { call, family: () => 'claude' },
  google: { call, family: (model) => model.split('-').slice(0, 2).join('-') },
});
const asked = (name: string, tellOtherReasoning = false) => {
  const { providerName, family } = models.resolve(name);
  return { provider: providerName, family, tellOtherReasoning };
};
const answer = (model: string | undefined, content: AnswerPart[]): AssistantMessage => ({
  id: 'a',
  role: 'assistant',
  content,
  attempt: 1,
  ...(model && { model }),
});
const parts: AnswerPart[] = [
  { type: 'reasoning', text: 'hm', opaque: { signature: 's' } },
  { type: 'text', text: 'so', opaque: { thoughtSignature: 't' } },
  { type: 'hosted-tool', id: 'h', name: 'web-search', input: { query: 'q' }, output: ['found'], opaque: { block: 1 } },
  { type: 'source', url: 'https://a.example' },
  { type: 'tool-call', id: 'c', name: 'add', arguments: '{}', opaque: { extra: 1 } },
];

test.each([
  ['the same model', 'anthropic/claude-x', 'anthropic/claude-x'],
  ['another of its family', 'anthropic/claude-x', 'anthropic/claude-y'],
  ['a bare name and the default provider', 'gpt-5', 'openai/gpt-5'],
  ['a family that the provider tells by the beginning of a name', 'google/gemini-3-pro', 'google/gemini-3-flash'],
])('data that a model created is sent back to it unchanged: %s', (_what, made, name) => {
  const messages: Message[] = [{ id: 'u', role: 'user', content: 'hi' }, answer(made, parts)];
  expect(forModel(messages, asked(name), models)[1]).toBe(messages[1]);
});

test.each([
  ['another provider', 'anthropic/claude-x', 'openai/gpt-5'],
  ['another model that is its own family', 'openai/gpt-5', 'openai/gpt-6'],
  ['another family of the provider', 'google/gemini-2.5-pro', 'google/gemini-3-pro'],
  ['a provider that is not registered any more', 'gone/model', 'openai/gpt-5'],
  ['nobody knows whose', undefined, 'openai/gpt-5'],
])('data that only its creator understands is sent to no other model: %s', (_what, made, name) => {
  const [message] = forModel([answer(made, parts)], asked(name), models) as [AssistantMessage];
  expect(JSON.stringify(message.content)).not.toMatch(/opaque|signature|"hm"/);
  expect(message.content.map(({ type }) => type)).toEqual(['text', 'text', 'tool-call']);
  expect(message.content[1]).toMatchObject({ text: expect.stringMatching(/web-search[\s\S]*found/) });
  expect(toolCallsOf(message.content)).toEqual([{ id: 'c', name: 'add', arguments: '{}' }]);
});

test('the reasoning of other models is sent as text if the settings say so, and hidden reasoning never', () => {
  const made = answer('anthropic/x', [{ type: 'reasoning', text: '', opaque: { redacted: 'r' } }, ...parts]);
  const [message] = forModel([made], asked('gpt-5', true), models) as [AssistantMessage];
  expect(message.content[0]).toEqual({ type: 'text', text: '<reasoning>\nhm\n</reasoning>\n' });
  expect(message.content.filter(({ type }) => type === 'reasoning')).toEqual([]);
});

test('a message is adapted once and is the same object in each turn, so that the request keeps its prefix', () => {
  const messages = [answer('anthropic/x', parts)];
  const first = forModel(messages, asked('gpt-5'), models)[0];
  expect(forModel([...messages, answer('gpt-5', parts)], asked('gpt-5'), models)[0]).toBe(first);
  expect(forModel(messages, asked('gpt-5', true), models)[0]).not.toBe(first);
  expect(forModel(messages, asked('anthropic/x'), models)[0]).toBe(messages[0]);
});

test('in any order of models, every call keeps its place and no data of one provider reaches another', () => {
  const names = ['gpt-5', 'openai/gpt-6', 'anthropic/a', 'anthropic/b', 'google/gemini-3-pro', 'google/gemini-2-pro'];
  const some = fc.array(fc.tuple(fc.constantFrom(...names), fc.subarray(parts)), { maxLength: 8 });
  fc.assert(
    fc.property(some, fc.constantFrom(...names), fc.boolean(), (turns, name, tell) => {
      const marked = turns.map(([made, given]) =>
        answer(
          made,
          given.map((part) => (part.opaque === undefined ? part : { ...part, opaque: { by: made } })),
        ),
      );
      const told = forModel(marked, asked(name, tell), models) as AssistantMessage[];
      expect(told.map(({ content }) => toolCallsOf(content))).toEqual(marked.map(({ content }) => toolCallsOf(content)));
      const own = asked(name);
      for (const { content } of told)
        for (const { opaque } of content) {
          if (opaque === undefined) continue;
          expect(asked((opaque as { by: string }).by)).toMatchObject({ provider: own.provider, family: own.family });
        }
    }),
  );
});
