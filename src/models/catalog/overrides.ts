import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { capabilities, type ModelOverride } from './model-info';

const dollars = z.number().min(0);
const tokens = z.number().int().positive();
const overridesSchema = z.record(
  z.string().regex(/^[^/\s]+\/\S+$/, "is not of the form 'provider/model'"),
  z
    .strictObject({
      inputPerMillion: dollars.optional(),
      cachedInputPerMillion: dollars.optional(),
      cacheWritePerMillion: dollars.optional(),
      outputPerMillion: dollars.optional(),
      contextWindow: tokens.optional(),
      maxInputTokens: tokens.optional(),
      maxOutputTokens: tokens.optional(),
      capabilities: z.partialRecord(z.enum(capabilities), z.boolean()).optional(),
    })
    .superRefine(
      ({ inputPerMillion, outputPerMillion, cachedInputPerMillion, cacheWritePerMillion, contextWindow, maxInputTokens }, { addIssue }) => {
        const missing = (name: string) =>
          addIssue({ code: 'custom', path: [name], message: 'is missing: inputPerMillion and outputPerMillion are set together' });
        const hasPrice = [inputPerMillion, outputPerMillion, cachedInputPerMillion, cacheWritePerMillion].some(
          (price) => price !== undefined,
        );
        if (hasPrice && inputPerMillion === undefined) missing('inputPerMillion');
        if (hasPrice && outputPerMillion === undefined) missing('outputPerMillion');
        if (contextWindow !== undefined && maxInputTokens !== undefined && maxInputTokens > contextWindow) {
          addIssue({ code: 'custom', path: ['maxInputTokens'], message: `is larger than contextWindow (${contextWindow})` });
        }
      },
    ),
);

/** Reads overrides from a file, if they are a path, and checks them. Throws an `Error` that names the file and every invalid entry. */
export function readOverrides(overrides: string | Readonly<Record<string, ModelOverride>>): Map<string, ModelOverride> {
  return new Map(Object.entries(typeof overrides === 'string' ? fileOf(overrides) : checked('overrides', overrides)));
}

function fileOf(path: string): Record<string, ModelOverride> {
  const where = `The file of models ${JSON.stringify(path)}`;
  const why = (error: unknown) => (error as Error | undefined)?.message ?? String(error);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${where} can't be read: ${why(error)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${where} is not JSON: ${why(error)}`);
  }
  return checked(where, value);
}

function checked(where: string, value: unknown): Record<string, ModelOverride> {
  const parsed = overridesSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => {
    const words = issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message).join('; ') : issue.message;
    return `- ${[...issue.path.map((key) => JSON.stringify(key)), ''].join(' ').replace(/ $/, ': ')}${words}`;
  });
  const shape =
    '{ "provider/model": { "inputPerMillion": 1.25, "cachedInputPerMillion": 0.125, "cacheWritePerMillion": 1.25, "outputPerMillion": 10, "contextWindow": 400000, "maxInputTokens": 272000, "maxOutputTokens": 128000, "capabilities": { "images": true, "pdf": true, "tools": true, "structuredOutput": true, "reasoning": true, "promptCaching": true } } }';
  throw new Error(
    `${where} is not valid. It must be ${shape}, with prices in US dollars. All fields may be left out, but inputPerMillion and outputPerMillion only together:\n${problems.join('\n')}`,
  );
}
