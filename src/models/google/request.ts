import type { ModelSettings } from '../../core/agent';
import { isObject, type JsonObject } from '../../core/json';
import type { ModelRequest } from '../model';
import { schemaWords } from '../schema-words';
import { encodedContents, joined } from './contents';
import { toHostedTool } from './hosted-tools';
import { thinkingConfig, traitsOf } from './model-traits';

/**
 * The body of the HTTP request, as bytes. `settings.providerOptions` are merged last and override other fields; `null` removes a field.
 * `generationConfig` and `toolConfig` are merged field by field.
 */
export function encodeRequest(request: ModelRequest): Uint8Array<ArrayBuffer> {
  const { instructions, messages, model, settings } = request;
  const traits = traitsOf(model);
  const isFallback = request.answer !== undefined && !schemaField(request);
  const told = isFallback ? [instructions, schemaWords(request.answer as JsonObject)].filter(Boolean).join('\n\n') : instructions;
  const fields = merged(fieldsOf(request, traits.isGemini ? told : ''), settings.providerOptions ?? {});
  // Contents given in the provider options replace the transcript.
  if ('contents' in fields) return Buffer.from(JSON.stringify(fields));
  const contents = encodedContents(messages, { isNew: traits.isNew, opening: traits.isGemini ? '' : told });
  const rest = JSON.stringify(fields).slice(1);
  return Buffer.concat([Buffer.from('{"contents":['), ...joined(contents), Buffer.from(rest === '}' ? ']}' : `],${rest}`)]);
}

function fieldsOf(request: ModelRequest, system: string): JsonObject {
  const { model, settings, tools, hostedTools = [], answer } = request;
  const { isNew } = traitsOf(model);
  const { temperature, maxTokens, reasoningEffort } = settings;
  const thinking = thinkingConfig(model, reasoningEffort);
  const generationConfig = {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(answer && schemaField(request) && { responseMimeType: 'application/json', responseJsonSchema: answer }),
    ...(thinking && { thinkingConfig: thinking }),
  };
  const functionDeclarations = tools.map(({ name, description, parameters }) => ({
    name,
    ...(description && { description }),
    parametersJsonSchema: parameters,
  }));
  const isCombined = isNew && tools.length > 0 && hostedTools.length > 0;
  const functionCallingConfig = tools.length > 0 ? callingConfig(settings.toolChoice, isCombined) : undefined;
  return {
    ...(system.trim() && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length + hostedTools.length > 0 && {
      tools: [...hostedTools.map(toHostedTool), ...(tools.length > 0 ? [{ functionDeclarations }] : [])],
    }),
    ...(functionCallingConfig && {
      // Without this field the model can't see in the next turn what the hosted tools did.
      toolConfig: { functionCallingConfig, ...(isCombined && { includeServerSideToolInvocations: true }) },
    }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  } as unknown as JsonObject;
}

/** Before Gemini 3 the API rejects an answer schema together with tools; Gemma accepts no schema. */
function schemaField({ model, tools, hostedTools = [] }: ModelRequest): boolean {
  const { isNew, isGemini } = traitsOf(model);
  return isNew || (isGemini && tools.length + hostedTools.length === 0);
}

function callingConfig(choice: ModelSettings['toolChoice'], isCombined: boolean): object | undefined {
  if (typeof choice === 'object') return { mode: 'ANY', allowedFunctionNames: [choice.tool] };
  if (choice === 'required') return { mode: 'ANY' };
  if (choice === 'none') return { mode: 'NONE' };
  // Together with hosted tools the API doesn't support AUTO.
  if (isCombined) return { mode: 'VALIDATED' };
  return choice && { mode: 'AUTO' };
}

function merged(fields: JsonObject, options: JsonObject): JsonObject {
  const all: JsonObject = { ...fields, ...options };
  for (const name of ['generationConfig', 'toolConfig']) {
    const [given, more] = [fields[name], options[name]];
    if (isObject(given) && isObject(more)) all[name] = withoutNulls({ ...given, ...more } as JsonObject);
  }
  return withoutNulls(all);
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
