/** Settings that can make a subcommand of git any other: `git -c alias.x=push x`. An included file may contain them. */
const names = 'alias\\.|help\\.autocorrect|include\\.|includeif\\.';
const anySubcommand = new RegExp(`\\b(${names})`, 'i');

/** Settings in the environment: single ones, all of `git -c` as one text, and files, which may contain any setting. */
const inEnvironment = new RegExp(
  `\\bGIT_CONFIG_(KEY_\\d+\\+?=(${names})|PARAMETERS\\+?=.*\\b(${names})|(GLOBAL|SYSTEM)\\+?=(?!(/dev/null)?(\\s|$)))`,
  'is',
);

/** Whether an option of git, maybe with its value in the next word, can make the subcommand any other. */
export function namesAlias(option: string, value = ''): boolean {
  const [name = '', setting = value] = option.split(/(?<=^--config-env)=/);
  return /^(-c|--config-env)$/.test(name) && anySubcommand.exec(setting)?.index === 0;
}

/** Whether a word of a command sets a variable with which a subcommand of git can be any other. */
export function setsAlias(word: string): boolean {
  return inEnvironment.test(word);
}

/** Whether a text may contain such an option or variable. */
export function mayNameAlias(text: string): boolean {
  return anySubcommand.test(text) || inEnvironment.test(text);
}
