import { type Command, InvalidArgumentError, Option } from 'commander';
import { readUser } from '../../config';
import { checkPerson, cleanName } from '../../core/people';

/** Adds the commands that send a request to a thread. */
export function addRequests(program: Command): void {
  addWords(program);
  addDecisions(program);
  addSettling(program);
  addSteering(program);
  addReopen(program);
}

/** Who answers. The answer is signed if LONGHAUL_SIGNING_KEY is set. */
export function byOption(): Option {
  const option = new Option('--by <who>', 'who you are, for the log; default LONGHAUL_USER').argParser(person);
  return readUser() === undefined ? option : option.env('LONGHAUL_USER');
}

const reason = () => new Option('--reason <text>', 'the reason, for the log');

/** `--group` may be given several times. */
export function groupOption(): Option {
  return new Option('--group <name>', 'a group that you are in; may be given several times').argParser(
    (name: string, before: string[] | undefined) => [...(before ?? []), person(name)],
  );
}

/** Checks the name of a user or a group. */
export function person(name: string): string {
  const wrong = checkPerson('The name', name);
  if (wrong) throw new InvalidArgumentError(`${wrong}.`);
  return cleanName(name);
}

function addWords(program: Command): void {
  program
    .command('send')
    .description('send a message: the run takes it in at its next turn, or it begins the next run of a conversation')
    .arguments('<thread> <text>')
    .addOption(new Option('--now', 'immediately: aborts the current model call').conflicts('afterRun'))
    .option('--after-run', 'as the next run, even if one is in progress')
    .option('--id <id>', 'an id of your own: sent twice, it is taken in once')
    .action((thread, text, options) => {
      const { send }: typeof import('./requests') = require('./requests');
      return send(thread, text, options);
    });
  program
    .command('reply')
    .description('reply to a suspended run, which then continues')
    .arguments('<correlation> <text>')
    .option('--id <id>', 'an id of your own: sent twice, it is taken in once')
    .action((correlation, text, options) => {
      const { reply }: typeof import('./requests') = require('./requests');
      return reply(correlation, text, options);
    });
  program
    .command('answer')
    .description('answer a question of the agent, or of a call: a text, or the fields of its form as a JSON object')
    .arguments('<thread> <call> [answer]')
    .addOption(new Option('--decline', 'for the question of a call: refuse what it asks for').conflicts('cancel'))
    .option('--cancel', 'for the question of a call: leave it without an answer')
    .addOption(byOption())
    .addOption(groupOption())
    .action((thread, call, text, options) => {
      const { answer }: typeof import('./requests') = require('./requests');
      return answer(thread, call, text, options);
    });
  program
    .command('submit')
    .description('submit the output of a call whose tool is executed outside')
    .arguments('<thread> <call> <output>')
    .usage('[options] <thread> <call> <output>   (output: JSON or text; - reads standard input)')
    .option('--error', 'the call failed, and the output is the reason')
    .option('--text', 'treat the output as text, even if it looks like JSON')
    .addOption(byOption())
    .addOption(groupOption())
    .action((thread, call, output, options) => {
      const { submit }: typeof import('./requests') = require('./requests');
      return submit(thread, call, output, options);
    });
}

function addDecisions(program: Command): void {
  program
    .command('approve')
    .description('approve a waiting call, or grant more of a limit')
    .arguments('<thread> <call>')
    .addOption(byOption())
    .addOption(groupOption())
    .option('--reason <text>')
    .option('--arguments <json>', "replace the model's arguments; checked against the tool first")
    .addOption(new Option('--remember <scope>', 'similar calls need no approval from now on').choices(['thread', 'agent']))
    .option('--expect <hash>', 'approve only the call that inbox and show print with this hash')
    .addOption(new Option('--more <n>', 'for a limit: how much more; default: the same amount again').argParser(positive))
    .action((thread, call, options) => {
      const { approve }: typeof import('./requests') = require('./requests');
      return approve(thread, call, options);
    });
  program
    .command('reject')
    .description('reject a waiting call; the rejection and its reason are sent to the model')
    .arguments('<thread> <call>')
    .addOption(byOption())
    .addOption(groupOption())
    .option('--reason <text>')
    .option('--stop', 'also end the run')
    .option('--expect <hash>', 'reject only the call that inbox and show print with this hash')
    .action((thread, call, options) => {
      const { reject }: typeof import('./requests') = require('./requests');
      return reject(thread, call, options);
    });
}

function addSettling(program: Command): void {
  program
    .command('settle')
    .description('say what became of a call whose outcome is unknown')
    .arguments('<thread> <call>')
    .option('--done <output>', 'it was carried out; the output that the tool would have returned, JSON or text; - reads standard input')
    .option('--text', 'with --done: the output is text, even if it looks like JSON')
    .option('--not-done', 'it was not carried out, and runs again')
    .option('--failed <reason>', 'it failed, or was carried out in part; the reason is sent to the model')
    .option('--expect <hash>', 'only if what waits is the outcome that was shown with this')
    .addOption(byOption())
    .addOption(groupOption())
    .option('--reason <text>', 'the reason, for the log')
    .action((thread, call, options) => {
      const { settle }: typeof import('./requests') = require('./requests');
      return settle(thread, call, options);
    });
}

function addSteering(program: Command): void {
  program
    .command('cancel')
    .description('cancel a run and abort its running steps')
    .argument('<id>', 'the id of the thread or of the run')
    .addOption(reason())
    .addOption(byOption())
    .action((id, options) => {
      const { cancel }: typeof import('./requests') = require('./requests');
      return cancel(id, options);
    });
  program
    .command('pause')
    .description('pause a thread: no new model call or tool call begins until it is resumed')
    .argument('<thread>')
    .addOption(reason())
    .addOption(byOption())
    .action((thread, options) => {
      const { pause }: typeof import('./requests') = require('./requests');
      return pause(thread, options);
    });
  program
    .command('resume')
    .description('continue a paused thread')
    .argument('<thread>')
    .addOption(reason())
    .addOption(byOption())
    .action((thread, options) => {
      const { resume }: typeof import('./requests') = require('./requests');
      return resume(thread, options);
    });
  program
    .command('compact')
    .description('shorten the transcript')
    .argument('<thread>')
    .addOption(byOption())
    .action((thread, options) => {
      const { compact }: typeof import('./requests') = require('./requests');
      return compact(thread, options);
    });
  program
    .command('close')
    .description('end a conversation once its run has ended')
    .argument('<thread>')
    .option('--cancel', 'also end the run')
    .addOption(reason())
    .addOption(byOption())
    .action((thread, options) => {
      const { close }: typeof import('./requests') = require('./requests');
      return close(thread, options);
    });
}

function addReopen(program: Command): void {
  program
    .command('reopen')
    .description('reopen a closed conversation, and send it a message if one is given')
    .arguments('<thread> [text]')
    .addOption(reason())
    .addOption(byOption())
    .action((thread, text, options) => {
      const { reopen }: typeof import('./requests') = require('./requests');
      return reopen(thread, text, options);
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(Number.isFinite(value) && value > 0)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}
