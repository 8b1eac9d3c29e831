import { show } from '../core/check-input';
import { isObject } from '../core/json';

/** What is wrong with what tools are to reach through `ctx.resolve`, or undefined. */
export function checkDependencies(dependencies: unknown): string | undefined {
  const example = 'such as { db: () => openDatabase() }';
  if (!isObject(dependencies)) return `dependencies must be an object of functions, ${example}; it is ${wordsFor(dependencies)}`;
  const wrong = Object.entries(dependencies).find(([, make]) => typeof make !== 'function');
  return wrong && `dependencies.${wrong[0]} must be a function that makes it, ${example}; it is ${wordsFor(wrong[1])}`;
}

function wordsFor(value: unknown): string {
  return typeof value === 'function' ? 'a function' : show(value);
}
