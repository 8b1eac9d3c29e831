import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { exit, exitCodeOf, lineOf } from './exit';
import { formatNames } from './format-names';

// A command's module is loaded when the command is chosen: `--help` and a typing error need no Temporal client, and only two need a worker.

const exitCodes = `
Exit codes: 0 completed, 1 failed or incomplete, 2 usage, 3 waits for a person and nobody is there to ask, 130 cancelled.
The Temporal server is the one that TEMPORAL_ADDRESS names (default localhost:7233); namespace and credentials come from the standard TEMPORAL_* variables.`;

/** Runs the command line. Sets the exit code; never throws. */
export async function main(argv: string[]): Promise<void> {
  // Whoever reads the output has read enough (`longhaul events T | head`): that is no failure, and the thread goes on.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exit.ok);
    throw error;
  });
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed it already.
      process.exitCode = error.exitCode === 0 ? exit.ok : exit.usage;
      return;
    }
    process.stderr.write(`${pc.red('error:')} ${lineOf(error)}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

function createProgram(): Command {
  const program = new Command('longhaul')
    .description('Durable LLM agents on Temporal: start them, watch them, answer them.')
    .addHelpText('after', exitCodes)
    .showHelpAfterError('(longhaul --help shows the commands)')
    .exitOverride();
  addProcesses(program);
  addRun(program);
  addReaders(program);
  addRequests(program);
  for (const command of program.commands) command.exitOverride();
  return program;
}

function addProcesses(program: Command): void {
  program
    .command('dev')
    .argument('[input]', 'a task for the first agent: it is followed here to its end, and then everything stops')
    .description('a Temporal server with its Web UI and a worker, in one process; Ctrl-C stops both')
    .option('--agents <file>', 'a module that exports agents; default LONGHAUL_AGENTS, else the built-in coder')
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .option('--data <folder>', 'where threads are kept from one start to the next', '.longhaul')
    .option('--memory', 'keep nothing')
    .option('--yes', 'with a task: agree to whatever needs an approval')
    .action(async (input, options) => {
      const { dev }: typeof import('./dev') = require('./dev');
      await dev(input, options);
    });
  program
    .command('worker')
    .description('a worker, which runs agents; ends, drained, on SIGTERM and Ctrl-C')
    .option('--agents <file>', 'a module that exports agents; default LONGHAUL_AGENTS, else the built-in coder')
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .action(async (options) => {
      const { worker }: typeof import('./worker') = require('./worker');
      await worker(options);
    });
}

function addRun(program: Command): void {
  program
    .command('run')
    .description('start a thread and follow it to its end')
    .argument('<input>', 'what the agent is to do; - reads standard input')
    .option('--agent <name>', 'an agent that a worker has', 'coder')
    .option('--thread <id>', 'an id of your own: the same id with the same request attaches to the thread there is')
    .option('--model <model>', "instead of the agent's own")
    .option('--conversation', 'keep the thread open for further messages (longhaul send)')
    .option('--json', 'canonical events as JSON lines on standard output, and nothing else there')
    .addOption(formatOption())
    .option('--yes', 'approve every call that asks')
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .action(async (input, options) => {
      const { run }: typeof import('./run') = require('./run');
      await run(input, options);
    });
}

function addReaders(program: Command): void {
  program
    .command('events')
    .description('the events of a thread, as they come, until its run ends')
    .argument('<thread>')
    .addOption(new Option('--from <seq>', 'first event wanted').argParser(wholeNumber).default(1))
    .option('--no-follow', 'stop at what there is')
    .option('--json', 'one event a line')
    .addOption(formatOption())
    .action(async (thread, options) => {
      const { events }: typeof import('./events') = require('./events');
      await events(thread, options);
    });
  program
    .command('list')
    .description('threads, newest first')
    .option('--query <filter>', `a list filter of Temporal's, such as "AgentStatus = 'requires_action'"`)
    .addOption(new Option('--limit <n>', 'at most so many').argParser(wholeNumber).default(20))
    .option('--json', 'one thread a line')
    .action(async (options) => {
      const { list }: typeof import('./list') = require('./list');
      await list(options);
    });
  program
    .command('show')
    .description('how a thread stands: status, usage, what it waits for, its messages, its history')
    .argument('<thread>')
    .option('--json', 'as one JSON object')
    .action(async (thread, options) => {
      const { show }: typeof import('./show') = require('./show');
      await show(thread, options);
    });
}

function addRequests(program: Command): void {
  const by = new Option('--by <who>', 'who decides; kept in the log');
  program
    .command('send')
    .description('say something to a thread: taken in at its next turn, or as the next run of a conversation')
    .arguments('<thread> <text>')
    .action(async (thread, text) => {
      const { send }: typeof import('./requests') = require('./requests');
      await send(thread, text);
    });
  program
    .command('approve')
    .description('let a waiting call run')
    .arguments('<thread> <call>')
    .addOption(by)
    .option('--reason <text>')
    .option('--arguments <json>', "other arguments than the model's; checked against the tool first")
    .action(async (thread, call, options) => {
      const { approve }: typeof import('./requests') = require('./requests');
      await approve(thread, call, options);
    });
  program
    .command('reject')
    .description('refuse a waiting call; the model is told, with the reason')
    .arguments('<thread> <call>')
    .addOption(by)
    .option('--reason <text>')
    .action(async (thread, call, options) => {
      const { reject }: typeof import('./requests') = require('./requests');
      await reject(thread, call, options);
    });
  program
    .command('submit')
    .description('the output of a call whose tool is executed outside')
    .arguments('<thread> <call> <output>')
    .usage('[options] <thread> <call> <output>   (output: JSON or text; - reads standard input)')
    .option('--error', 'the call failed, and the output says why')
    .option('--text', 'take the output as text, whatever it looks like')
    .action(async (thread, call, output, options) => {
      const { submit }: typeof import('./requests') = require('./requests');
      await submit(thread, call, output, options);
    });
  program
    .command('cancel')
    .description('end the run of a thread, aborting what it is doing')
    .argument('<thread>')
    .option('--reason <text>')
    .option('--by <who>')
    .action(async (thread, options) => {
      const { cancel }: typeof import('./requests') = require('./requests');
      await cancel(thread, options);
    });
  program
    .command('close')
    .description('end a conversation once its run is over')
    .argument('<thread>')
    .action(async (thread) => {
      const { close }: typeof import('./requests') = require('./requests');
      await close(thread);
    });
}

function formatOption(): Option {
  return new Option('--format <name>', 'JSON lines in the words of this system').choices(formatNames).conflicts('json');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}
