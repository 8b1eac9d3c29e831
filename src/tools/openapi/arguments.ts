import type { JsonObject } from '../../core/json';
import { isObject } from '../../core/json';
import { fileSchema, isFileSchema } from './body';
import { cleanText } from './clean-text';
import type { ApiDocument } from './document';
import { type Field, modelSchema } from './model-schema';
import type { FullOperation } from './operations';
import type { ApiParameter } from './parameters';

/** Which argument of the tool holds which parameter, and which holds the body. */
export interface ArgumentNames {
  parameters: readonly (readonly [argument: string, parameter: ApiParameter])[];
  body?: string;
}

/** Names the arguments of an operation: those of its parameters, and `body`. Names that are taken or not valid for every provider change. */
export function argumentNames({ parameters, body }: Pick<FullOperation, 'parameters' | 'body'>): ArgumentNames {
  const taken = new Set<string>(body ? ['body'] : []);
  const named = parameters.map((parameter) => {
    const plain = parameter.name.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 50);
    let name = plain;
    if (taken.has(name)) name = `${plain}_${parameter.in}`;
    for (let n = 2; taken.has(name); n++) name = `${plain}_${parameter.in}_${n}`;
    taken.add(name);
    return [name, parameter] as const;
  });
  return { parameters: named, ...(body && { body: 'body' }) };
}

/** Returns the schema of the arguments for the model. */
export function argumentSchema(document: ApiDocument, operation: FullOperation, names: ArgumentNames): JsonObject {
  const fields: Field[] = names.parameters.map(([name, { schema, description, required }]) => ({
    name,
    schema: schema ?? {},
    description: cleanText(description, 500),
    required,
  }));
  const { body } = operation;
  if (body && names.body) {
    const description = cleanText(body.description, 500) || `The body of the request (${cleanText(body.mediaType, 100)}).`;
    fields.push({ name: names.body, schema: bodySchema(document, operation), description, required: body.required });
  }
  return modelSchema(document, fields);
}

function bodySchema(document: ApiDocument, { body }: FullOperation): unknown {
  switch (body?.kind) {
    case 'text':
      return { type: 'string' };
    case 'binary':
      return fileSchema;
    case 'multipart':
      return withFiles(document, body.schema);
    default:
      return body?.schema;
  }
}

/** By the schema: many operations may refer to one. */
const madeWithFiles = new WeakMap<object, unknown>();

/** The schema of a multipart body, with `fileSchema` for each field that is a file or a list of files. */
function withFiles(document: ApiDocument, schema: unknown): unknown {
  const { value } = document.follow(schema);
  if (!isObject(value) || !isObject(value.properties)) return schema;
  const known = madeWithFiles.get(value);
  if (known) return known;
  const properties = Object.entries(value.properties).map(([name, property]) => [name, withFile(document, property)]);
  const made = { ...value, properties: Object.fromEntries(properties) };
  madeWithFiles.set(value, made);
  return made;
}

function withFile(document: ApiDocument, property: unknown): unknown {
  const { value } = document.follow(property);
  if (!isObject(value)) return property;
  if (isFileSchema(document, value)) {
    return typeof value.description === 'string' ? { ...fileSchema, description: value.description } : fileSchema;
  }
  return value.type === 'array' && isFileSchema(document, value.items) ? { ...value, items: fileSchema } : property;
}
