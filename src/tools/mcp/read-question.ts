import { createHash } from 'node:crypto';
import { bounds } from '../../core/bounds';
import { isObject, sortedJson } from '../../core/json';
import { printable, printableLine } from '../../core/printable';
import {
  problemOfValue,
  type QuestionField,
  type QuestionFormat,
  type QuestionSchema,
  questionFormats,
  type TitledOption,
  type ToolQuestion,
} from '../../core/questions';
import { shortText, wellFormed } from '../../core/text';
import type { SecretMask } from '../running/secret-mask';

/** A question as a server asked it. `id` is the same for each question with this message and form. */
export type ReadQuestion = Omit<ToolQuestion, 'from'>;

const most = { titleChars: 200, descriptionChars: 1_000, nameChars: 100, valueChars: 200, options: 100 };

/**
 * Reads the parameters of `elicitation/create`. The server is not trusted: texts are bounded and made visible, and of the schema only what a form needs
 * is kept. Throws an `Error` that tells the server what is wrong.
 */
export function readQuestion(params: unknown, secret: SecretMask): ReadQuestion {
  const { mode = 'form', message, requestedSchema, url } = isObject(params) ? params : {};
  if (mode !== 'form' && mode !== 'url') throw new Error(`elicitation mode ${shownName(mode)} is not supported; use form or url`);
  if (typeof message !== 'string' || message.trim() === '') throw new Error('the question has no message');
  if (message.length > bounds.questionChars) throw tooLong('message', message.length, bounds.questionChars);
  // Invisible characters are longer when they are shown.
  const words = printable(wellFormed(message)).trim();
  if (words.length > bounds.questionChars) throw tooLong('message', words.length, bounds.questionChars);
  const what = mode === 'url' ? { url: readUrl(url) } : { schema: readSchema(requestedSchema) };
  const json = sortedJson({ message: words, ...what }) ?? '';
  if (secret.text(json) !== json) throw new Error('the question repeats a credential');
  return { id: `question_${createHash('sha256').update(json).digest('hex').slice(0, 32)}`, message: words, ...what };
}

function readUrl(url: unknown): string {
  if (typeof url !== 'string' || !URL.canParse(url)) throw new Error('the question has no valid url');
  if (url.length > bounds.questionUrlChars) throw tooLong('url', url.length, bounds.questionUrlChars);
  const { protocol, username, password, href } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error('the url must begin with https: or http:');
  if (username + password !== '') throw new Error('the url contains a user or a password');
  return href;
}

function readSchema(schema: unknown): QuestionSchema {
  if (!isObject(schema) || !isObject(schema.properties)) throw new Error('requestedSchema must be an object with properties');
  const chars = JSON.stringify(schema).length;
  if (chars > bounds.questionSchemaChars) throw tooLong('schema', chars, bounds.questionSchemaChars);
  const entries = Object.entries(schema.properties).map(
    ([name, field]) => [mustBeVisible('a field', name), readField(name, field)] as const,
  );
  const properties: QuestionSchema['properties'] = Object.fromEntries(entries);
  const { required = [] } = schema;
  const isField = (name: unknown) => typeof name === 'string' && Object.hasOwn(properties, name);
  if (!Array.isArray(required) || !required.every(isField)) throw new Error('required must be a list of fields of the form');
  const read: QuestionSchema = { type: 'object', properties, ...(required.length > 0 && { required: [...new Set<string>(required)] }) };
  // Values without a title are in it twice.
  const shownChars = JSON.stringify(read).length;
  if (shownChars > 2 * bounds.questionSchemaChars) throw tooLong('schema', shownChars, 2 * bounds.questionSchemaChars);
  return read;
}

function readField(name: string, field: unknown): QuestionField {
  if (!isObject(field)) throw new Error(`the field ${shownName(name)} must be an object`);
  const { title, description } = field;
  const described = {
    ...(typeof title === 'string' && title !== '' && { title: shownLine(title, most.titleChars) }),
    ...(typeof description === 'string' && description !== '' && { description: shownLine(description, most.descriptionChars) }),
  };
  const read = { ...described, ...kindOf(name, field) } as QuestionField;
  const wrong = problemOfBounds(read);
  if (wrong) throw new Error(`the field ${shownName(name)} ${wrong}, so no answer fits`);
  const fits = field.default !== undefined && problemOfValue(read, field.default) === undefined;
  return fits ? ({ ...read, default: field.default } as QuestionField) : read;
}

/** Says which limits of a field exclude each other, if any do. */
function problemOfBounds(field: QuestionField): string | undefined {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = field as Partial<Record<Bound, number>>;
  const isAbove = (least: number | undefined, most: number | undefined) => least !== undefined && most !== undefined && least > most;
  const isNone = isAbove(minimum, maximum) || isAbove(minLength, maxLength) || isAbove(minItems, maxItems);
  return isNone ? 'has a minimum above its maximum' : undefined;
}

type Bound = 'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems';

function kindOf(name: string, field: Record<string, unknown>): object {
  switch (field.type) {
    case 'boolean':
      return { type: 'boolean' };
    case 'number':
    case 'integer':
      return { type: field.type, ...numbers(field, ['minimum', 'maximum'], Number.isFinite) };
    case 'string':
      return { type: 'string', ...kindOfText(name, field) };
    case 'array':
      return { type: 'array', items: itemsOf(name, field.items), ...numbers(field, ['minItems', 'maxItems'], isCount) };
    default:
      throw new Error(`the field ${shownName(name)} must have the type string, number, integer, boolean or array`);
  }
}

function kindOfText(name: string, field: Record<string, unknown>): object {
  const { enum: values, enumNames: titles, oneOf, format } = field;
  if (oneOf !== undefined) return { oneOf: titled(name, oneOf) };
  if (values !== undefined) {
    const plain = valuesOf(name, values);
    if (!Array.isArray(titles) || titles.length !== plain.length || !titles.every((title) => typeof title === 'string'))
      return { enum: plain };
    return { oneOf: plain.map((value, i) => ({ const: value, title: shownLine(titles[i] as string, most.titleChars) })) };
  }
  const isKnown = questionFormats.includes(format as QuestionFormat);
  return { ...numbers(field, ['minLength', 'maxLength'], isCount), ...(isKnown && { format: format as QuestionFormat }) };
}

function itemsOf(name: string, items: unknown): object {
  if (!isObject(items)) throw new Error(`the field ${shownName(name)} has no options in items`);
  return items.anyOf === undefined ? { type: 'string', enum: valuesOf(name, items.enum) } : { anyOf: titled(name, items.anyOf) };
}

function titled(name: string, options: unknown): TitledOption[] {
  const isOption = (option: unknown) => isObject(option) && typeof option.const === 'string';
  if (!Array.isArray(options) || !options.every(isOption))
    throw new Error(`the options of the field ${shownName(name)} must each have a const`);
  const values = valuesOf(
    name,
    options.map((option) => option.const),
  );
  return values.map((value, i) => {
    const { title } = options[i] as { title?: unknown };
    return { const: value, title: typeof title === 'string' && title !== '' ? shownLine(title, most.titleChars) : value };
  });
}

function valuesOf(name: string, values: unknown): string[] {
  const isList = Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string');
  if (!isList || new Set(values).size < values.length)
    throw new Error(`the field ${shownName(name)} must have a list of different texts as options`);
  if (values.length > most.options) throw new Error(`the field ${shownName(name)} has more than ${most.options} options`);
  return values.map((value) => mustBeVisible('an option', value));
}

function numbers(field: Record<string, unknown>, names: string[], fits: (value: unknown) => boolean): Record<string, unknown> {
  return Object.fromEntries(names.filter((name) => fits(field[name])).map((name) => [name, field[name]]));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Names and values are sent back as they are, so a person must see all of them. */
function mustBeVisible(what: string, text: string): string {
  if (text === '' || text === '__proto__' || text.length > (what === 'a field' ? most.nameChars : most.valueChars)) {
    throw new Error(`${what} of the form has no usable name: ${shownName(text)}`);
  }
  if (printableLine(text) !== text) throw new Error(`${what} of the form has characters that people can't see: ${shownName(text)}`);
  return text;
}

function shownLine(text: string, chars: number): string {
  return shortText(printableLine(shortText(text, chars)), chars);
}

function shownName(name: unknown): string {
  return `"${shownLine(String(name), most.nameChars)}"`;
}

function tooLong(what: string, chars: number, max: number): Error {
  return new Error(`the ${what} of the question has ${chars} characters; people are shown at most ${max}`);
}
