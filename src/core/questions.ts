import { bounds } from './bounds';
import { bytesOf } from './context/carry';
import { isObject, type Json, type JsonObject } from './json';
import { printableLine } from './printable';
import { shortText } from './text';

/** A question that a tool asks a person in the middle of a call, such as the elicitation of an MCP server. Its texts are not trusted. */
export interface ToolQuestion {
  /** Identifies message, form and address, and which of several equal questions of the call it is. */
  id: string;
  /** Who asks: the name of the MCP server. */
  from: string;
  message: string;
  /** The form to fill in. */
  schema?: QuestionSchema;
  /** Instead of a form: the address that the person is to visit. */
  url?: string;
}

/** A form as JSON Schema: an object of plain fields, as the Model Context Protocol defines it. */
export interface QuestionSchema {
  type: 'object';
  properties: Record<string, QuestionField>;
  required?: string[];
}

interface Described {
  title?: string;
  description?: string;
}

export interface TitledOption {
  const: string;
  title: string;
}

export type QuestionField = Described &
  (
    | { type: 'string'; minLength?: number; maxLength?: number; format?: QuestionFormat; default?: string }
    | { type: 'string'; enum: string[]; default?: string }
    | { type: 'string'; oneOf: TitledOption[]; default?: string }
    | { type: 'number' | 'integer'; minimum?: number; maximum?: number; default?: number }
    | { type: 'boolean'; default?: boolean }
    | {
        type: 'array';
        items: { type: 'string'; enum: string[] } | { anyOf: TitledOption[] };
        minItems?: number;
        maxItems?: number;
        default?: string[];
      }
  );

export const questionFormats = ['email', 'uri', 'date', 'date-time'] as const;
export type QuestionFormat = (typeof questionFormats)[number];

export const answerActions = ['accept', 'decline', 'cancel'] as const;
/** `accept`: the form is filled in. `decline`: the person refuses. `cancel`: they leave it open. */
export type AnswerAction = (typeof answerActions)[number];

/** The answer to a question of a call. The call gets it when it runs again. */
export interface QuestionAnswer {
  questionId: string;
  action: AnswerAction;
  /** With `accept`: the fields of the form. */
  content?: JsonObject;
}

/** The options of a field to choose from, or undefined if it has none. */
export function optionsOfField(field: QuestionField): TitledOption[] | undefined {
  const plain = (values: string[]) => values.map((value) => ({ const: value, title: value }));
  if (field.type === 'array') return 'enum' in field.items ? plain(field.items.enum) : field.items.anyOf;
  if (field.type !== 'string') return undefined;
  if ('enum' in field) return plain(field.enum);
  return 'oneOf' in field ? field.oneOf : undefined;
}

/** A form to fill in, for the command that answers it: its required fields, or all if none is, each with a value of its type. */
export function exampleContent({ properties, required }: QuestionSchema): JsonObject {
  const names = required ?? Object.keys(properties);
  return Object.fromEntries(names.map((name) => [name, exampleOf(properties[name])]));
}

function exampleOf(field: QuestionField | undefined): Json {
  if (field?.default !== undefined) return field.default;
  switch (field?.type) {
    case 'boolean':
      return true;
    case 'number':
    case 'integer':
      return field.minimum ?? Math.min(1, field.maximum ?? 1);
    case 'array':
      return ['…'];
    default:
      return '…';
  }
}

/** Returns why the content does not fit the form, or undefined. */
export function problemOfContent({ properties, required = [] }: QuestionSchema, content: unknown): string | undefined {
  if (!isObject(content)) return 'it must be an object with the fields of the form';
  const names = Object.keys(content);
  const unknown = names.find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) return `the form has no field ${quoted(unknown)}; it has ${shortNames(Object.keys(properties))}`;
  const missing = required.find((name) => !Object.hasOwn(content, name));
  if (missing !== undefined) return `${quoted(missing)} is required`;
  for (const name of names) {
    const problem = problemOfValue(properties[name] as QuestionField, content[name]);
    if (problem !== undefined) return `${quoted(name)} ${problem}`;
  }
  return undefined;
}

/** Returns why a value does not fit a field, or undefined: `must be …`. */
export function problemOfValue(field: QuestionField, value: unknown): string | undefined {
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'number':
    case 'integer':
      return problemOfNumber(field, value);
    case 'array':
      return problemOfChoices(field, value);
    case 'string':
      return problemOfText(field, value);
  }
}

function problemOfNumber({ type, minimum, maximum }: Extract<QuestionField, { type: 'number' | 'integer' }>, value: unknown) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
  if (type === 'integer' && !Number.isInteger(value)) return 'must be a whole number';
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  if (maximum !== undefined && value > maximum) return `must be at most ${maximum}`;
  return undefined;
}

function problemOfChoices(field: Extract<QuestionField, { type: 'array' }>, value: unknown): string | undefined {
  const options = optionsOfField(field) ?? [];
  if (!Array.isArray(value)) return 'must be a list of options';
  if (!value.every((item) => options.some((option) => option.const === item))) return `must contain only ${shownOptions(options)}`;
  if (new Set(value).size < value.length) return 'must contain each option only once';
  const { minItems = 0, maxItems = options.length } = field;
  if (value.length < minItems) return `must have at least ${minItems} options`;
  if (value.length > maxItems) return `must have at most ${maxItems} options`;
  return undefined;
}

function problemOfText(field: Extract<QuestionField, { type: 'string' }>, value: unknown): string | undefined {
  const options = optionsOfField(field);
  if (options) return options.some((option) => option.const === value) ? undefined : `must be one of ${shownOptions(options)}`;
  if (typeof value !== 'string') return 'must be a text';
  const { minLength = 0, maxLength, format } = field as Extract<QuestionField, { maxLength?: number }> & { format?: QuestionFormat };
  // JSON Schema counts code points.
  const length =
    value.length <= minLength || (maxLength !== undefined && value.length > maxLength) ? Array.from(value).length : value.length;
  if (length < minLength) return `must have at least ${minLength} characters`;
  if (maxLength !== undefined && length > maxLength) return `must have at most ${maxLength} characters`;
  return format === undefined || hasFormat[format](value) ? undefined : formatWords[format];
}

const formatWords: Record<QuestionFormat, string> = {
  email: 'must be an email address',
  uri: 'must be an address with a scheme, such as https://example.com',
  date: 'must be a date, such as 2026-01-31',
  'date-time': 'must be a date with time and zone, such as 2026-01-31T12:00:00Z',
};

const hasFormat: Record<QuestionFormat, (text: string) => boolean> = {
  email: (text) => text.length <= 320 && /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*$/.test(text),
  uri: (text) => /^[a-z][a-z0-9+.-]*:[^\s]+$/i.test(text),
  date: isDate,
  'date-time': (text) => {
    const [date = '', time = ''] = text.split(/t/i);
    return isDate(date) && /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i.test(time);
  },
};

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** Returns why an answer is too large, or undefined. All answers of a call are in each request to run it again. */
export function problemOfSize(content: JsonObject, earlier: readonly QuestionAnswer[]): string | undefined {
  const bytes = bytesOf(content);
  if (bytes > bounds.answerContentBytes) return `it has ${bytes} bytes of JSON; at most ${bounds.answerContentBytes} are kept`;
  const all = earlier.reduce((sum, answer) => sum + (answer.content ? bytesOf(answer.content) : 0), bytes);
  if (all <= bounds.callAnswersBytes) return undefined;
  return `the answers to this call's questions have ${all} bytes of JSON together; at most ${bounds.callAnswersBytes} are kept`;
}

const shownChars = 100;

function quoted(name: string): string {
  return `"${shortText(printableLine(shortText(name, shownChars)), shownChars)}"`;
}

function shortNames(names: string[]): string {
  return names.length === 0 ? 'none' : shortText(names.map(quoted).join(', '), 5 * shownChars);
}

function shownOptions(options: readonly TitledOption[]): string {
  return shortNames(options.map((option) => option.const));
}
