import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { permissionModes } from '../core/tool';
import { checkBlank } from './check-blank';
import { usualFolder } from './dev-lock';
import { exit, exitCodeOf, lineOf } from './exit';
import { formatNames } from './format-names';
import { addRequests, byOption, groupOption, person } from './program-requests';
import { paint, Styled, styled } from './styled';
import { note, print, say } from './terminal';

// A command's module is loaded when the command is chosen: `--help` and a typing error need no Temporal client, and only three need Temporal's worker.

const exitCodes = `
Exit codes: 0 completed, 1 failed or incomplete, 2 usage, 3 rests (for a person, a reply, or paused) and nobody is there to ask, 130 cancelled.
The Temporal server is the one that TEMPORAL_ADDRESS names (default localhost:7233); namespace and credentials come from the standard TEMPORAL_* variables.`;

/** Runs the command line. Sets the exit code; never throws. */
export async function main(argv: string[], version: string): Promise<void> {
  // Whoever reads the output has read enough (`longhaul events T | head`): that is no failure, and the thread goes on.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exit.ok);
    throw error;
  });
  let command: string | undefined;
  try {
    const program = createProgram(version).hook('preAction', (_, chosen) => {
      command = chosen.name();
      checkBlank(chosen);
    });
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed it already.
      process.exitCode = error.exitCode === 0 ? exit.ok : exit.usage;
      return;
    }
    note(styled`${paint.red('error:')} ${lineOf(error, command)}`);
    process.exitCode = exitCodeOf(error);
  }
}

function createProgram(version: string): Command {
  const program = new Command('longhaul')
    .description('Durable LLM agents on Temporal: start them, watch them, answer them.')
    .version(version, '--version', 'the version of this package')
    .addHelpText('after', exitCodes)
    .showHelpAfterError('(longhaul --help shows the commands)')
    .configureOutput({ writeOut: (text) => print(Styled.lines(text)), writeErr: (text) => say(Styled.lines(text)) })
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
    .addOption(modeOption())
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .option('--data <folder>', 'where threads are kept from one start to the next', usualFolder)
    .option('--memory', 'keep nothing')
    .option('--no-worker', 'only the server and its Web UI, for workers of your own')
    .option('--yes', 'with a task: agree to whatever needs an approval')
    .action(async (input, options) => {
      const { dev }: typeof import('./dev') = require('./dev');
      await dev(input, options);
    });
  program
    .command('worker')
    .description('a worker, which runs agents; ends, drained, on SIGTERM and Ctrl-C')
    .option('--agents <file>', 'a module that exports agents; default LONGHAUL_AGENTS, else the built-in coder')
    .addOption(modeOption())
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .action(async (options) => {
      const { worker }: typeof import('./worker') = require('./worker');
      await worker(options);
    });
  program
    .command('keygen')
    .description('a key to sign decisions with: the private half in a file, the public one on standard output, for LONGHAUL_SIGNERS')
    .addArgument(new Argument('<name>', 'whose key it is').argParser(person))
    .option('--out <file>', 'where the private key is written to; default <name>.pem')
    .addOption(groupOption())
    .action((name, options) => {
      const { keygen }: typeof import('./keygen') = require('./keygen');
      keygen(name, options);
    });
  program
    .command('replay')
    .description('before a deploy: does the code installed here decide as the histories of your threads say?')
    .argument('[file...]', 'histories as "temporal workflow show --output json" prints them; default: those of the namespace')
    .option('--query <filter>', `a list filter of Temporal's, such as "ExecutionStatus = 'Running'"`)
    .addOption(new Option('--limit <n>', 'at most so many histories').argParser(wholeNumber))
    .option('--keep <folder>', 'where histories that diverge are written to', '.longhaul/diverged')
    .action(async (files, options) => {
      const { replay }: typeof import('./replay') = require('./replay');
      await replay(files, options);
    });
}

function modeOption(): Option {
  return new Option(
    '--mode <mode>',
    'what the built-in coder may do without asking: minimal (read), trusted (also edit), full-access; default LONGHAUL_MODE, else minimal',
  ).choices(permissionModes);
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
    .addOption(byOption())
    .addOption(groupOption())
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
    .command('inbox')
    .description('what waits for a person, or a reply, in all threads: oldest first, with the command that answers it')
    .option('--agent <name>')
    .option('--tool <name>', 'of the call that waits; of a limit, the limit')
    .addOption(new Option('--group <name>', 'a group that is asked').argParser(person))
    .addOption(new Option('--older <time>', 'what has waited for so long: 90s, 30m, 2h, 3d').argParser(timeSpan))
    .addOption(new Option('--limit <n>', 'at most so many').argParser(wholeNumber).default(50))
    .option('--json', 'one item a line')
    .action(async (options) => {
      const { inbox }: typeof import('./inbox') = require('./inbox');
      await inbox(options);
    });
  program
    .command('show')
    .description('how a thread stands: status, usage and cost, limits, decisions, retries, what it waits for, its messages')
    .argument('<thread>')
    .option('--json', 'as one JSON object')
    .action(async (thread, options) => {
      const { show }: typeof import('./show') = require('./show');
      await show(thread, options);
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

/** To milliseconds. */
function timeSpan(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(text) ?? [];
  const ms = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit ?? ''];
  if (!amount || !ms) throw new InvalidArgumentError('It must be a number with s, m, h or d, such as 2h.');
  return Number(amount) * ms;
}
