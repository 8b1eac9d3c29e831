import { type Command, InvalidArgumentError, Option } from 'commander';
import { readUser } from '../config';
import { checkPerson, cleanName } from '../core/people';

/** The commands that ask something of a thread. */
export function addRequests(program: Command): void {
  addWords(program);
  addDecisions(program);
  addSteering(program);
}

/** Who answers. Signed with the key of LONGHAUL_SIGNING_KEY, where that is set. */
export function byOption(): Option {
  const option = new Option('--by <who>', 'who you are; kept in the log; default LONGHAUL_USER').argParser(person);
  return readUser() === undefined ? option : option.env('LONGHAUL_USER');
}

const reason = () => new Option('--reason <text>', 'kept in the log');

/** `--group` may be given several times. */
export function groupOption(): Option {
  return new Option('--group <name>', 'a group that you are in; may be given several times').argParser(
    (name: string, before: string[] | undefined) => [...(before ?? []), person(name)],
  );
}

/** A user or a group. */
export function person(name: string): string {
  const wrong = checkPerson('The name', name);
  if (wrong) throw new InvalidArgumentError(`${wrong}.`);
  return cleanName(name);
}

function addWords(program: Command): void {
  program
    .command('send')
    .description('say something to a thread: taken in at its next turn, or as the next run of a conversation')
    .arguments('<thread> <text>')
    .addOption(new Option('--now', 'at once: the model call under way is given up').conflicts('afterRun'))
    .option('--after-run', 'as the next run, also where one is going on')
    .option('--id <id>', 'an id of your own: sent twice, it is taken in once')
    .action((thread, text, options) => {
      const { send }: typeof import('./requests') = require('./requests');
      return send(thread, text, options);
    });
  program
    .command('reply')
    .description('reply to a suspension: the thread that rests for it goes on')
    .arguments('<correlation> <text>')
    .option('--id <id>', 'an id of your own: sent twice, it is taken in once')
    .action((correlation, text, options) => {
      const { reply }: typeof import('./requests') = require('./requests');
      return reply(correlation, text, options);
    });
  program
    .command('answer')
    .description('answer a question of the agent')
    .arguments('<thread> <call> <text>')
    .addOption(byOption())
    .addOption(groupOption())
    .action((thread, call, text, options) => {
      const { answer }: typeof import('./requests') = require('./requests');
      return answer(thread, call, text, options);
    });
  program
    .command('submit')
    .description('the output of a call whose tool is executed outside')
    .arguments('<thread> <call> <output>')
    .usage('[options] <thread> <call> <output>   (output: JSON or text; - reads standard input)')
    .option('--error', 'the call failed, and the output says why')
    .option('--text', 'take the output as text, whatever it looks like')
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
    .description('let a waiting call run, or grant more of a limit that is asked about')
    .arguments('<thread> <call>')
    .addOption(byOption())
    .addOption(groupOption())
    .option('--reason <text>')
    .option('--arguments <json>', "other arguments than the model's; checked against the tool first")
    .addOption(new Option('--remember <scope>', 'calls like it need no approval any more').choices(['thread', 'agent']))
    .option('--expect <hash>', 'only what inbox and show gave this hash: refused where anything else waits by now')
    .addOption(new Option('--more <n>', 'of a limit: how much more; without it as much again').argParser(positive))
    .action((thread, call, options) => {
      const { approve }: typeof import('./requests') = require('./requests');
      return approve(thread, call, options);
    });
  program
    .command('reject')
    .description('refuse a waiting call; the model is told, with the reason')
    .arguments('<thread> <call>')
    .addOption(byOption())
    .addOption(groupOption())
    .option('--reason <text>')
    .option('--stop', 'and end the run')
    .action((thread, call, options) => {
      const { reject }: typeof import('./requests') = require('./requests');
      return reject(thread, call, options);
    });
}

function addSteering(program: Command): void {
  program
    .command('cancel')
    .description('end a run, aborting what it is doing')
    .argument('<id>', "the thread's id, or the run's")
    .addOption(reason())
    .addOption(byOption())
    .action((id, options) => {
      const { cancel }: typeof import('./requests') = require('./requests');
      return cancel(id, options);
    });
  program
    .command('pause')
    .description('let nothing new begin, no model call and no tool, until the thread is resumed')
    .argument('<thread>')
    .addOption(reason())
    .addOption(byOption())
    .action((thread, options) => {
      const { pause }: typeof import('./requests') = require('./requests');
      return pause(thread, options);
    });
  program
    .command('resume')
    .description('go on after a pause')
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
    .description('end a conversation once its run is over')
    .argument('<thread>')
    .option('--cancel', 'and end the run, too')
    .addOption(reason())
    .addOption(byOption())
    .action((thread, options) => {
      const { close }: typeof import('./requests') = require('./requests');
      return close(thread, options);
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(Number.isFinite(value) && value > 0)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}
