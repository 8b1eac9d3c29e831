import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { permissionModes, sandboxModes } from '../core/tool';
import { checkBlank } from './commands/check-blank';
import { addRequests, byOption, groupOption, person } from './commands/program-requests';
import { exit, exitCodeOf, lineOf } from './exit';
import { formatNames } from './views/format-names';
import { paint, Styled, styled } from './views/styled';
import { note, print, say } from './views/terminal';

// A command's module is loaded when the command runs: `--help` and usage errors need no Temporal client, and only three commands need Temporal's worker.

const exitCodes = `
Exit codes: 0 completed, 1 failed or incomplete, 2 usage error, 3 the run waits (for a person or a reply, or paused) and nobody can be asked, 130 cancelled.
The Temporal server is TEMPORAL_ADDRESS (default localhost:7233); namespace and credentials come from the standard TEMPORAL_* variables.`;

/** Runs the command line. Sets the exit code; never throws. */
export async function main(argv: string[], version: string): Promise<void> {
  // The reader of the output has closed the pipe (`longhaul events T | head`). That is not a failure, and the thread continues.
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
      // Commander has already printed the error.
      process.exitCode = error.exitCode === 0 ? exit.ok : exit.usage;
      return;
    }
    note(styled`${paint.red('error:')} ${lineOf(error, command)}`);
    process.exitCode = exitCodeOf(error);
  }
}

export function createProgram(version: string): Command {
  const program = new Command('longhaul')
    .description('Durable LLM agents on Temporal: start them, watch them, answer them.')
    .version(version, '--version', 'the version of this package')
    .addHelpText('after', exitCodes)
    .showHelpAfterError('(longhaul --help lists the commands)')
    .configureOutput({ writeOut: (text) => print(Styled.lines(text)), writeErr: (text) => say(Styled.lines(text)) })
    .exitOverride();
  addProcesses(program);
  addRun(program);
  addReaders(program);
  addContext(program);
  addRequests(program);
  addPolicy(program);
  addModels(program);
  for (const command of program.commands) command.exitOverride();
  return program;
}

function addProcesses(program: Command): void {
  program
    .command('dev')
    .argument('[input]', 'a task for the first agent: dev follows its run to the end and then stops everything')
    .description('start a Temporal server with its Web UI and a worker, in one process; Ctrl-C stops both')
    .option('--agents <file>', 'a module that exports agents; default LONGHAUL_AGENTS, else the built-in coder')
    .addOption(modeOption())
    .option('--pick-mode', 'ask for the mode at the start, if nothing sets it')
    .addOption(sandboxOption())
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .option(
      '--data <folder>',
      "where threads are kept between starts; default: a folder for the current folder, in your user's state folder",
    )
    .option('--memory', 'keep threads in memory only')
    .option('--no-worker', 'start only the server and its Web UI, for your own workers')
    .option('--yes', 'with a task: approve every call that needs an approval')
    .action(async (input, options) => {
      const { dev }: typeof import('./commands/dev') = require('./commands/dev');
      await dev(input, options);
    });
  program
    .command('worker')
    .description('run a worker, which runs agents; drains and ends on SIGTERM and Ctrl-C')
    .option('--agents <file>', 'a module that exports agents; default LONGHAUL_AGENTS, else the built-in coder')
    .addOption(modeOption())
    .addOption(sandboxOption())
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .action(async (options) => {
      const { worker }: typeof import('./commands/worker') = require('./commands/worker');
      await worker(options);
    });
  program
    .command('keygen')
    .description('create a key pair to sign decisions: the private key in a file, the public key on standard output, for LONGHAUL_SIGNERS')
    .addArgument(new Argument('<name>', 'whose key it is').argParser(person))
    .option('--out <file>', 'the file for the private key; default <name>.pem')
    .addOption(groupOption())
    .action((name, options) => {
      const { keygen }: typeof import('./commands/keygen') = require('./commands/keygen');
      keygen(name, options);
    });
  program
    .command('codec-server')
    .description("decode payloads for Temporal's Web UI and command line, with the keys of LONGHAUL_ENCRYPTION_KEYS_FILE")
    .option('--host <host>', 'the address to listen at; other than this machine, it needs LONGHAUL_CODEC_TOKEN', '127.0.0.1')
    .addOption(new Option('--port <port>', 'the port to listen at').argParser(wholeNumber).default(8234))
    .option('--origin <url...>', 'the addresses of Web UIs that may use it', ['http://localhost:8233', 'http://127.0.0.1:8233'])
    .option('--namespace <name...>', 'only for these namespaces; default: for all')
    .action(async (options) => {
      const { codecServer }: typeof import('./commands/codec-server') = require('./commands/codec-server');
      await codecServer(options);
    });
  program
    .command('replay')
    .description('before a deploy: check the installed code against the histories of your threads')
    .argument('[file...]', 'histories in the format of "temporal workflow show --output json"; default: those of the namespace')
    .option('--query <filter>', `a Temporal list filter, such as "ExecutionStatus = 'Running'"`)
    .addOption(new Option('--limit <n>', 'maximum number of histories').argParser(wholeNumber))
    .option('--keep <folder>', 'the folder for histories that diverge', '.longhaul/diverged')
    .action(async (files, options) => {
      const { replay }: typeof import('./commands/replay') = require('./commands/replay');
      await replay(files, options);
    });
}

function addModels(program: Command): void {
  program
    .command('models')
    .description('list what is known of models: windows, limits, prices (US dollars per million tokens), and what they can do')
    .argument('[pattern]', 'a part of their names, or the whole name of one, such as openai/gpt-5', '')
    .option('--json', 'print JSON, one line for each model')
    .action((pattern, options) => {
      const { models }: typeof import('./commands/models') = require('./commands/models');
      models(pattern, options);
    });
}

function addPolicy(program: Command): void {
  const policy = program.command('policy').description("what an agent's permissions allow, and what people let them remember");
  const whose = (command: Command) =>
    command
      .option('--agents <file>', 'a module that exports agents; default LONGHAUL_AGENTS, else the built-in coder')
      .option('--agent <name>', 'which of them, if there are several')
      .addOption(modeOption())
      .addOption(sandboxOption())
      .option('--json', 'print JSON');
  whose(policy.command('test'))
    .description('say whether a shell command would run without approval, and why; nothing is run')
    .argument('<command>')
    .option('--folder <folder>', "the workspace; default: the agent's, LONGHAUL_WORKSPACE, or the current folder")
    .action(async (command, options) => {
      const { explainPolicy }: typeof import('./commands/policy') = require('./commands/policy');
      await explainPolicy(command, options);
    });
  whose(policy.command('list'))
    .description('list the rules that people remembered for all threads of an agent')
    .action(async (options) => {
      const { listRules }: typeof import('./commands/policy') = require('./commands/policy');
      await listRules(options);
    });
  whose(policy.command('remove'))
    .description('remove a remembered rule')
    .addArgument(new Argument('<number>', 'as in the list').argParser(wholeNumber))
    .action(async (number, options) => {
      const { removeRule }: typeof import('./commands/policy') = require('./commands/policy');
      await removeRule(number, options);
    });
}

function modeOption(): Option {
  return new Option(
    '--mode <mode>',
    'what the built-in coder may do without asking: minimal (read), trusted (also edit), sandboxed (also commands in a sandbox without network), full-access; default LONGHAUL_MODE, else your settings, else minimal',
  ).choices(permissionModes);
}

function sandboxOption(): Option {
  return new Option(
    '--sandbox <mode>',
    'whether commands of the built-in coder run in a sandbox: off, auto (where it works), required; default LONGHAUL_SANDBOX, else off',
  ).choices(sandboxModes);
}

function addRun(program: Command): void {
  program
    .command('run')
    .description('start a thread and follow it to its end')
    .argument('<input>', 'the task for the agent; - reads standard input')
    .option('--agent <name>', 'the name of an agent that a worker runs', 'coder')
    .option('--thread <id>', "the thread's id: the same id with the same request attaches to the existing thread")
    .option('--model <model>', "use this model instead of the agent's")
    .option('--conversation', 'keep the thread open for further messages (longhaul send)')
    .option('--json', 'write canonical events as JSON lines to standard output, and nothing else')
    .addOption(formatOption())
    .option('--yes', 'approve every call that needs an approval')
    .addOption(byOption())
    .addOption(groupOption())
    .option('--task-queue <name>', 'default LONGHAUL_TASK_QUEUE, else longhaul')
    .action(async (input, options) => {
      const { run }: typeof import('./commands/run') = require('./commands/run');
      await run(input, options);
    });
}

function addReaders(program: Command): void {
  program
    .command('events')
    .description('print the events of a thread as they arrive, until its run ends')
    .argument('<thread>')
    .addOption(new Option('--from <seq>', 'the first event to print').argParser(wholeNumber).default(1))
    .option('--no-follow', 'stop after the recorded events')
    .option('--json', 'one JSON object per event and line')
    .addOption(formatOption())
    .action(async (thread, options) => {
      const { events }: typeof import('./commands/events') = require('./commands/events');
      await events(thread, options);
    });
  program
    .command('list')
    .description('list threads: open ones first, then those that closed last')
    .option('--query <filter>', `a Temporal list filter, such as "AgentStatus = 'requires_action'"`)
    .addOption(new Option('--limit <n>', 'maximum number of threads').argParser(wholeNumber).default(20))
    .option('--json', 'one JSON object per thread and line')
    .action(async (options) => {
      const { list }: typeof import('./commands/list') = require('./commands/list');
      await list(options);
    });
  program
    .command('inbox')
    .description('list what waits for a person or a reply in all threads, oldest first, with the command that answers it')
    .option('--agent <name>')
    .option('--tool <name>', 'the tool of the waiting call, or the name of the limit')
    .addOption(new Option('--group <name>', 'a group that may decide').argParser(person))
    .addOption(new Option('--older <time>', 'only items that have waited at least this long: 90s, 30m, 2h, 3d').argParser(timeSpan))
    .addOption(new Option('--limit <n>', 'maximum number of items').argParser(wholeNumber).default(50))
    .option('--json', 'one JSON object per item and line')
    .action(async (options) => {
      const { inbox }: typeof import('./commands/inbox') = require('./commands/inbox');
      await inbox(options);
    });
  program
    .command('show')
    .description('show the state of a thread: status, usage and cost, limits, decisions, retries, what it waits for, its messages')
    .argument('<thread>')
    .option('--json', 'print one JSON object')
    .action(async (thread, options) => {
      const { show }: typeof import('./commands/show') = require('./commands/show');
      await show(thread, options);
    });
  program
    .command('output')
    .description('print the whole output of a tool call; without a call, list the calls that have outputs')
    .argument('<thread>')
    .argument('[call]')
    .option('--out <file>', 'write it to this file, exactly as it is')
    .action(async (thread, call, options) => {
      const { output }: typeof import('./commands/output') = require('./commands/output');
      await output(thread, call, options);
    });
}

function addContext(program: Command): void {
  program
    .command('context')
    .description("show how full the model's context window is, what takes how much of it, and what would be shortened next")
    .argument('<thread>')
    .option('--json', 'print one JSON object')
    .action(async (thread, options) => {
      const { context }: typeof import('./commands/context') = require('./commands/context');
      await context(thread, options);
    });
}

function formatOption(): Option {
  return new Option('--format <name>', 'write JSON lines in the format of this system').choices(formatNames).conflicts('json');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return value;
}

/** Parses a time span to milliseconds. */
function timeSpan(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(text) ?? [];
  const ms = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit ?? ''];
  if (!amount || !ms) throw new InvalidArgumentError('It must be a number with s, m, h or d, such as 2h.');
  return Number(amount) * ms;
}
