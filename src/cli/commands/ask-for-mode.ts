import { type PermissionMode, permissionModes } from '../../core/tool';
import { UsageError } from '../exit';
import { paint, type Styled, styled } from '../views/styled';
import { note } from '../views/terminal';
import { createPrompt, type Prompt } from './prompt';

const meanings: Record<PermissionMode, string> = {
  minimal: 'read',
  trusted: 'read and edit',
  sandboxed: 'read, edit, and run commands in a sandbox without network',
  'full-access': 'everything',
};

/** Asks at the terminal what the built-in coder may do without asking. No answer means `minimal`. */
export async function askForMode(): Promise<PermissionMode> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new UsageError('--pick-mode asks at a terminal, and this is none. Use --mode.');
  const prompt = createPrompt({ input: process.stdin, output: process.stderr, onInterrupt: () => process.kill(process.pid, 'SIGINT') });
  try {
    return await pickMode(prompt, note);
  } finally {
    prompt.close();
  }
}

export async function pickMode({ ask }: Pick<Prompt, 'ask'>, say: (line: Styled) => void): Promise<PermissionMode> {
  say(styled`${paint.bold('What may the coder do without asking?')}`);
  for (const [at, mode] of permissionModes.entries()) say(styled`  ${String(at + 1)}  ${mode} ${paint.dim(`(${meanings[mode]})`)}`);
  for (;;) {
    const answer = (await ask(styled`Number or name [1]: `)).trim();
    const mode = answer === '' ? 'minimal' : (permissionModes[Number(answer) - 1] ?? permissionModes.find((one) => one === answer));
    if (mode) return mode;
    say(styled`There is no mode ${answer}.`);
  }
}
