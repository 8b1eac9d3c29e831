import type { JsonObject } from '../../core/json';
import { fieldLines } from '../../core/question-lines';
import { optionsOfField, problemOfValue, type QuestionField, type QuestionSchema, type TitledOption } from '../../core/questions';
import { paint, Styled, styled } from '../views/styled';

/** Asks a person for one line of text. */
type AskLine = (question: Styled) => Promise<string>;

/** Asks for the fields of a form, one after another, each until its value fits. An empty line takes the default, or leaves the field out. */
export async function askForm(schema: QuestionSchema, ask: AskLine, write: (text: Styled) => void): Promise<JsonObject> {
  const content: [string, unknown][] = [];
  for (const [name, field] of Object.entries(schema.properties)) {
    const required = schema.required?.includes(name) ?? false;
    const [head = '', ...options] = fieldLines(name, field, required);
    write(
      Styled.join(
        [head, ...options.map((option, i) => `  ${i + 1} ${option.trimStart()}`)].map((row) => styled`    ${Styled.lines(row)}\n`),
      ),
    );
    const value = await askField(field, required, ask, write);
    if (value !== undefined) content.push([name, value]);
  }
  return Object.fromEntries(content) as JsonObject;
}

async function askField(field: QuestionField, required: boolean, ask: AskLine, write: (text: Styled) => void): Promise<unknown> {
  for (;;) {
    const words = (await ask(styled`${howTo(field)}${paint.dim(emptyMeans(field, required))}: `)).trim();
    if (words === '' && (field.default !== undefined || !required)) return field.default;
    const value = valueOfWords(field, words);
    const problem = problemOfValue(field, value);
    if (problem === undefined) return value;
    write(styled`${paint.red(`It ${problem}.`)}\n`);
  }
}

function howTo(field: QuestionField): string {
  if (field.type === 'array') return 'Numbers, separated by commas';
  if (optionsOfField(field)) return 'A number';
  return field.type === 'boolean' ? '[y]es or [n]o' : 'Your answer';
}

function emptyMeans({ default: value }: QuestionField, required: boolean): string {
  if (value !== undefined) return ` (Enter: ${JSON.stringify(value)})`;
  return required ? '' : ' (Enter: none)';
}

/** Reads what a person typed as the value of a field. What can't be read stays text, which the field's check refuses. */
export function valueOfWords(field: QuestionField, words: string): unknown {
  const options = optionsOfField(field);
  if (field.type === 'array') return words === '' ? [] : words.split(',').map((word) => optionOf(options ?? [], word.trim()));
  if (options) return optionOf(options, words);
  if (field.type === 'number' || field.type === 'integer') return words === '' ? words : Number(words);
  if (field.type !== 'boolean') return words;
  const known: Record<string, boolean> = { y: true, yes: true, true: true, n: false, no: false, false: false };
  return known[words.toLowerCase()] ?? words;
}

/** An option by its value or its title, otherwise by its number. */
function optionOf(options: readonly TitledOption[], words: string): string {
  const named = options.find((option) => option.const === words) ?? options.find(({ title }) => title === words);
  return (named ?? (/^\d+$/.test(words) ? options[Number(words) - 1] : undefined))?.const ?? words;
}
