import type { ExtraTool } from '../../core/tool';
import type { Tool } from './define-tool';
import { foreignInput } from './tool-input';

/** Tools that came with threads, compiled. Limited in number, because compiling takes only 1 or 2 ms, and every thread may bring others. */
const compiled = new Map<string, Tool>();
const mostCompiled = 200;

/** Returns a tool that came with a thread, by its name, as a tool that is answered from outside. */
export function extraTool(specs: readonly ExtraTool[], name: string): Tool | undefined {
  const spec = specs.find((candidate) => candidate.name === name);
  if (!spec) return undefined;
  const key = JSON.stringify(spec);
  const known = compiled.get(key);
  const tool = known ?? toolOf(spec);
  // The newest last: the least recently used is removed first.
  compiled.delete(key);
  compiled.set(key, tool);
  for (const oldest of compiled.keys()) {
    if (compiled.size <= mostCompiled) break;
    compiled.delete(oldest);
  }
  return tool;
}

/** The client that started the thread supplied the schema. If it is invalid, every call of the tool is rejected with the reason. */
function toolOf({ name, description, parameters, deadlineMs }: ExtraTool): Tool {
  const unusable = (problem: string) => new Error(`its schema, which came with the thread, ${problem}`);
  const ask = deadlineMs !== undefined && { ask: { deadlineMs } };
  try {
    return { name, description, effect: 'once', ...ask, ...foreignInput(parameters, unusable) };
  } catch (error) {
    return { name, description, effect: 'once', ...ask, parameters, check: () => Promise.reject(error) };
  }
}
