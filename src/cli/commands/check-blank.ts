import type { Command } from 'commander';
import { UsageError } from '../exit';

/** Arguments that can't be blank. Texts are not listed: they may come from standard input, and are checked when they are read. */
const ids = new Map([
  ['thread', "the thread's id"],
  ['call', "the call's id"],
  ['id', 'the id'],
  ['correlation', 'the correlation id'],
]);

/** Refuses a blank id and a blank value of an option, because they usually come from a script's unset variable. */
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
