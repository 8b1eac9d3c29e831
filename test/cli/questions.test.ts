import { defineAgent } from '../../src/agents';
import { callTools, say } from '../../src/testing/model-server';
import { mcpTools } from '../../src/tools';
import { type Rig, startRig, until } from '../support/rig';
import { askingOverStdio, endAskingServers } from '../tools/mcp/asking-host';
import { expectOneLine, longhaul } from './command';

let rig: Rig;
beforeAll(async () => {
  const tools = [mcpTools({ servers: { own: askingOverStdio(true).server } })];
  rig = await startRig({
    script: ({ turn, input, messages }) =>
      turn === 0 ? callTools([{ name: `own__${input}`, args: {}, id: 'call_1' }]) : say(`It said: ${messages.at(-1)?.content}`),
    agents: [defineAgent({ name: 'clerk', model: 'openai/scripted', instructions: 'Work.', tools })],
  });
});
afterAll(endAskingServers);

const command = (...args: string[]) =>
  longhaul(args, { env: { TEMPORAL_ADDRESS: rig.address, LONGHAUL_TASK_QUEUE: rig.taskQueue }, fromSources: true });

async function waiting(tool: string) {
  const thread = await rig.client.start('clerk', tool);
  await until(
    () => thread.pending(),
    (pending) => pending.length > 0,
  );
  return thread;
}

test('show prints the question, its form and the commands that answer; answer takes the fields as JSON', async () => {
  const thread = await waiting('book');
  const { stdout } = await command('show', thread.id);
  expect(stdout).toContain('asks a person: own__book');
  expect(stdout).toContain('? own asks: How many seats, and where?\n');
  expect(stdout).toContain('- seats: Seats (a whole number, 1 to 9, required)\n');
  expect(stdout).toContain('  · w: Window\n');
  expect(stdout).toContain(`longhaul answer ${thread.id} call_1 '{"seats":1}'   (or: longhaul answer ${thread.id} call_1 --decline;`);
  expectOneLine(await command('answer', thread.id, 'call_1', '{"seats":12}'), /`content` does not fit the form: "seats" must be at most 9/);
  expectOneLine(await command('answer', thread.id, 'call_1', 'two'), /the form is answered with a JSON object/);
  expect(await command('answer', thread.id, 'call_1', '{"seats":2}', '--by', 'dana')).toMatchObject({
    code: 0,
    stderr: 'call_1 is answered.\n',
  });
  expect((await thread.result()).output).toContain('"seats":2');
  expect((await command('show', thread.id)).stdout).toMatch(/answered the question of own__book \(call_1\) by dana: seats: 2/);
});

test('a form with one field takes its value, and a question can be declined', async () => {
  const thread = await waiting('same');
  expect(await command('answer', thread.id, 'call_1', 'yes')).toMatchObject({ code: 0 });
  await until(
    () => thread.pending(),
    ([call]) => call?.question?.id.endsWith('_2') === true,
  );
  expect(await command('answer', thread.id, 'call_1', '--decline')).toMatchObject({
    code: 0,
    stderr: 'call_1 is answered with decline.\n',
  });
  expect((await thread.result()).output).toContain('[{"action":"accept","content":{"yes":true}},{"action":"decline"}]');
});
