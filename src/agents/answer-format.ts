import type { z } from 'zod';
import { excerpt, isObject, type JsonObject } from '../core/json';
import { messageOfThrown } from '../core/thrown';
import { toolParameters } from '../tools/tool-parameters';
import { zodProblems } from '../tools/zod-problems';

/** What an agent's answer must be. */
export interface AnswerFormat {
  /** JSON Schema (2020-12), with an object at its root: what the model is told. */
  readonly schema: JsonObject;
  /** Why a text is no such answer, a line each; none when it is one. */
  problems(text: string): Promise<string[]>;
}

/** Throws `TypeError` for a schema that no answer could fit. */
export function answerFormat(output: z.ZodType): AnswerFormat {
  const schema = toolParameters(output, (problem) => new TypeError(`output ${problem}`));
  return Object.freeze({
    schema,
    async problems(text: string): Promise<string[]> {
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch (error) {
        const why = messageOfThrown(error);
        return [`it is not valid JSON (${excerpt(why, 200)}): answer with one JSON object, and nothing before or after it`];
      }
      if (!isObject(value)) return ['it must be one JSON object'];
      try {
        const parsed = await output.safeParseAsync(value);
        return parsed.success ? [] : zodProblems(parsed.error.issues);
      } catch (error) {
        // A refinement of the author's that throws instead of reporting.
        return [`it could not be checked: ${messageOfThrown(error)}`];
      }
    },
  });
}
