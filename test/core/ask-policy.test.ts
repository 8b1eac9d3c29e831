import { askedWith, mostApprovers } from '../../src/core/ask-policy';
import type { AskPolicy } from '../../src/core/tool';

const own: AskPolicy = {
  users: ['dana'],
  approvers: 2,
  groups: ['leads'],
  deadlineMs: 9_000,
  onDeadline: ['ask-again', 'approve'],
  reason: 'much',
};
const denying = { deadlineMs: 9_000, onDeadline: ['ask-again', 'deny'] };

test.each<[string, AskPolicy, AskPolicy]>([
  ['nothing', {}, { ...own, ...denying } as AskPolicy],
  ['a reason', { reason: 'fyi' }, { ...own, ...denying, reason: 'fyi' } as AskPolicy],
  ['whom', { groups: ['security'] }, { groups: ['security'], approvers: 2, reason: 'much', ...denying } as AskPolicy],
  ['whom, fewer than the tool wants,', { users: ['eve'] }, { users: ['eve'], approvers: 1, reason: 'much', ...denying } as AskPolicy],
  ['how many', { approvers: 3 }, { ...own, ...denying, approvers: 3 } as AskPolicy],
  ['until when', { deadlineMs: 5 }, { users: ['dana'], groups: ['leads'], approvers: 2, reason: 'much', deadlineMs: 5 }],
])(
  'of a hook that says %s of asking, the rest is as the tool says, and nothing is approved at a deadline of the tool’s',
  (_, hook, asked) => {
    expect(askedWith(own, hook)).toEqual(asked);
  },
);

test('the number of approvers that a hook sets is not lowered to the number of people that the tool names', () => {
  const asked = askedWith({ users: ['dana'] }, { approvers: 2 });
  expect([asked, mostApprovers(asked)]).toEqual([{ users: ['dana'], approvers: 2 }, 1]);
});
