import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent } from '../../src/core/event';
import { agentbEvents } from '../../src/projections/agentb/agentb';
import { baseagentLines } from '../../src/projections/baseagent/baseagent';
import { codeliaNotifications } from '../../src/projections/codelia/codelia';
import { oneringaiEvents } from '../../src/projections/oneringai/oneringai';
import { oneringaiStream } from '../../src/projections/oneringai/stream';
import { project } from '../../src/projections/projection';

const folder = join(__dirname, 'recorded');
const read = (name: string): AgentEvent[] =>
  readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const agentb = (name: string) =>
  project(agentbEvents(), read(name)).map(({ type, data }) =>
    'currentStatus' in data ? data.currentStatus : type.replace(/^(thread|agent)\.(run\.|tool\.)?/, ''),
  );
const codelia = (name: string) =>
  project(codeliaNotifications(), read(name)).map(({ method, params }) =>
    method === 'agent.event' ? params.event.type : method === 'run.status' ? `= ${params.status}` : method,
  );

const begin = ['step.created', 'message.created', 'in_progress', 'message.created'];
const call = ['step.tool_call.created', 'step.tool_call.completed_by_llm', 'message.delta'];
const end = ['message.delta', 'message.completed', 'completed'];
const ran = ['execution.started', 'execution.completed'];
const step = ['step_start', 'tool_call', 'tool_result', 'step_complete'];

test('[A11][A29][A73][A97] logs that a real worker recorded are projected in the order of AgentB', () => {
  expect(agentb('words')).toEqual(['created', ...begin, ...end]);
  expect(agentb('tools')).toEqual([
    ...['created', ...begin, ...Array(5).fill(call).flat(), 'message.completed', 'requires_action'],
    // Two can't run, two run side by side, one after them.
    ...[...ran, ...ran, 'execution.started', ...ran, 'execution.completed', ...ran],
    ...['step.created', ...Array(5).fill('message.created'), 'in_progress', 'message.created', ...end],
  ]);
  expect(agentb('approvals')).toEqual([
    ...['created', ...begin, ...call, ...call, ...call, 'message.completed', 'requires_action', 'requires_action', 'in_progress'],
    ...['execution.started', ...ran, 'execution.completed', 'requires_action', 'requires_action', 'in_progress', ...ran],
    ...['step.created', ...Array(3).fill('message.created'), 'in_progress', 'message.created', ...end],
  ]);
  expect(agentb('failure')).toEqual(['created', ...begin, 'message.incomplete', 'failed']);
  expect(agentb('cancelled-in-the-answer')).toEqual(['created', ...begin, 'cancelling', 'message.incomplete', 'cancelled', 'cancelled']);
  expect(agentb('conversation')).toEqual([...['created', ...begin, ...end], ...['created', ...begin, ...end]]);
});

test('[B57][B67] logs that a real worker recorded are projected in the order of codelia', () => {
  const asked = ['step_start', 'tool_call', 'permission.ready', '= awaiting_ui', '= running', 'tool_result', 'step_complete'];
  expect(codelia('words')).toEqual(['= running', 'final', '= completed']);
  expect(codelia('tools')).toEqual(['= running', ...Array(5).fill(step).flat(), 'final', '= completed']);
  expect(codelia('approvals')).toEqual(['= running', ...asked, ...asked, ...asked, 'final', '= completed']);
  expect(codelia('outputs-by-signal')).toEqual([
    ...['= running', 'step_start', 'tool_call', '= awaiting_ui', '= running', 'tool_result', 'step_complete'],
    ...['final', '= completed'],
  ]);
  expect(codelia('failure')).toEqual(['= running', '= error']);
  expect(codelia('cancelled-at-rest').at(-1)).toBe('= cancelled');
  expect(codelia('conversation')).toEqual(['= running', 'final', '= completed', '= running', 'final', '= completed']);
});

const baseagent = (name: string) =>
  project(baseagentLines(), read(name)).map((line) =>
    'item' in line ? `${line.type.slice(5)} ${line.item.type}` : line.type === 'thread.started' ? 'thread' : line.type,
  );
const emitted = (name: string) => project(oneringaiEvents(), read(name)).map(({ type }) => type);
const streamed = (name: string) => project(oneringaiStream(), read(name)).map(({ type }) => type.replace('response.', ''));

test('[B48][B50][B52] logs that a real worker recorded are projected in the order of BaseAgent', () => {
  const [started, completed, said] = ['started command_execution', 'completed command_execution', 'completed agent_message'];
  expect(baseagent('words')).toEqual(['thread', 'turn.started', said, 'turn.completed']);
  expect(baseagent('tools')).toEqual([
    ...['thread', 'turn.started', started, completed, started, completed, started, started, completed, completed, started, completed],
    ...[said, 'turn.completed'],
  ]);
  expect(baseagent('outputs-by-signal')).toEqual(['thread', 'turn.started', started, completed, said, 'turn.completed']);
  expect(baseagent('failure')).toEqual(['thread', 'turn.started', 'turn.failed']);
  expect(baseagent('conversation')).toEqual(['thread', ...Array(2).fill(['turn.started', said, 'turn.completed']).flat()]);
});

test('[A17][A92][A112][A207] logs that a real worker recorded are projected in the order of OneRingAI', () => {
  const turn = ['iteration:start', 'llm:request', 'llm:response'];
  const last = [...turn, 'iteration:complete', 'execution:complete'];
  const ran = ['tool:start', 'tool:complete'];
  expect(emitted('words')).toEqual(['execution:start', ...last]);
  expect(emitted('outputs-by-signal')).toEqual(['execution:start', ...turn, 'tool:detected', ...ran, 'iteration:complete', ...last]);
  expect(emitted('tools')).toEqual([
    ...['execution:start', ...turn, 'tool:detected', 'tool:start', 'tool:error', 'tool:start', 'tool:error'],
    ...['tool:start', ...ran, 'tool:complete', ...ran, 'iteration:complete', ...last],
  ]);
  // Three calls, of which one was refused.
  expect(emitted('approvals')).toEqual(['execution:start', ...turn, 'tool:detected', ...ran, ...ran, 'iteration:complete', ...last]);
  expect(emitted('failure')).toEqual(['execution:start', 'iteration:start', 'llm:request', 'llm:error', 'execution:error']);
  expect(emitted('cancelled-in-the-answer').slice(-3)).toEqual(['execution:cancelled', 'llm:error', 'execution:error']);
  expect(streamed('words')).toEqual(['created', 'output_text.delta', 'iteration.complete', 'complete']);
  expect(streamed('outputs-by-signal')).toEqual([
    ...['created', 'tool_call.start', 'tool_call_arguments.delta', 'tool_call_arguments.done', 'tool_execution.start'],
    ...['tool_execution.done', 'iteration.complete', 'created', 'output_text.delta', 'iteration.complete', 'complete'],
  ]);
  expect(streamed('cancelled-in-the-answer')).toEqual(['created', 'error']);
});
