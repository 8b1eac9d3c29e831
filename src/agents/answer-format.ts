import type { z } from 'zod';
import { excerpt, isObject, type JsonObject } from '../core/json';
import { messageOfThrown } from '../core/thrown';
import { toolParameters } from '../tools/defining/tool-parameters';
import { zodProblems } from '../tools/defining/zod-problems';

/** The required format of an agent's answer. */
export interface AnswerFormat {
  /** JSON Schema (2020-12) with an object at its root, as sent to the model. */
  readonly schema: JsonObject;
  /** Returns the problems of an answer, one line each; none if it is valid. */
  problems(text: string): Promise<string[]>;
}

/** Creates an answer format. Throws `TypeError` for a schema that no answer could match. */
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
        // The schema's own refinement threw instead of reporting an issue.
        return [`it could not be checked: ${messageOfThrown(error)}`];
      }
    },
  });
}
