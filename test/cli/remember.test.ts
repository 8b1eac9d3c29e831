import { aboutTo } from '../../src/cli/commands/requests';
import { waitsLines } from '../../src/cli/commands/show';
import { Styled, styled } from '../../src/cli/views/styled';
import type { PendingCall } from '../../src/core/event';

const call: PendingCall = { kind: 'approval', toolCallId: 'c1', name: 'pay', arguments: '{"cents":5}' };
const asked = { edited: undefined, more: undefined };
const shown = (what: PendingCall): string => Styled.join(waitsLines('t', what, 100), styled`\n`).text;

test.each<[string, Partial<PendingCall>, string]>([
  ['the whole tool', {}, '+ with --remember, also from now on without approval: pay'],
  ['narrow rules', { remember: [{ tool: 'shell', prefix: ['git', 'push'] }] }, 'without approval: shell: git push'],
])('what an approval would remember is shown before it is given: %s', (_, rules, words) => {
  expect(aboutTo('t', { ...call, ...rules }, { ...asked, remember: 'agent' }).text).toContain(words);
  expect(shown({ ...call, ...rules })).toContain(words);
});

test('nothing is said of it if it is not asked for, or can not be remembered', () => {
  expect(aboutTo('t', call, { ...asked, remember: undefined }).text).not.toContain('from now on');
  expect(aboutTo('t', { ...call, remember: [] }, { ...asked, remember: 'agent' }).text).not.toContain('from now on');
  expect(shown({ ...call, remember: [] })).not.toContain('from now on');
  expect(shown({ ...call, kind: 'output' })).not.toContain('from now on');
});
