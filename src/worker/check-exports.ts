import { show } from '../core/check-input';
import { isObject } from '../core/json';

/** What is wrong with the dependencies that tools get through `ctx.resolve`, or undefined. */
export function checkDependencies(dependencies: unknown): string | undefined {
  const example = 'such as { db: () => openDatabase() }';
  if (!isObject(dependencies)) return `dependencies must be an object of functions, ${example}; it is ${wordsFor(dependencies)}`;
  const wrong = Object.entries(dependencies).find(([, make]) => typeof make !== 'function');
  return wrong && `dependencies.${wrong[0]} must be a function that returns it, ${example}; it is ${wordsFor(wrong[1])}`;
}

function wordsFor(value: unknown): string {
  return typeof value === 'function' ? 'a function' : show(value);
}

/** What is wrong with the model providers, or undefined. */
export function checkProviders(providers: unknown): string | undefined {
  const example = 'such as { groq: aiSdk(createGroq()) }';
  if (providers === undefined) return undefined;
  if (!isObject(providers)) return `providers must be an object of model providers, ${example}; it is ${wordsFor(providers)}`;
  const nameless = Object.keys(providers).find((name) => name === '' || /[\s/]/.test(name));
  if (nameless !== undefined) return `providers: ${show(nameless)} can't be a provider's name, which precedes the slash in a model's name`;
  const wrong = Object.entries(providers).find(([, provider]) => !isObject(provider) || typeof provider.call !== 'function');
  return wrong && `providers.${wrong[0]} must be a provider, with a method \`call\`, ${example}; it is ${wordsFor(wrong[1])}`;
}
