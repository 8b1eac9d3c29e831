import type { Command } from 'commander';
import { UsageError } from './exit';

/** What is named by an argument and can't be blank. Texts say themselves what they are for, and may come from standard input. */
const ids = new Map([
  ['thread', "the thread's id"],
  ['call', "the call's id"],
  ['id', 'the id'],
  ['correlation', 'the correlation id'],
]);

/** Refuses a blank id and a blank value of an option: mostly a variable of a script that nobody has set, and no wish for the default. */
export function checkBlank(command: Command): void {
  for (const [i, argument] of command.registeredArguments.entries()) {
    const what = ids.get(argument.name());
    if (what && isBlank(command.processedArgs[i])) throw new UsageError(`${command.name()}: ${what} is blank`);
  }
  for (const option of command.options) {
    if (isBlank(command.getOptionValue(option.attributeName()))) {
      throw new UsageError(`${command.name()}: the value of ${option.long} is blank; give one, or leave the option out`);
    }
  }
}

function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === '';
}
