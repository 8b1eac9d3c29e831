import { countedBlanks, printable, printableLine } from './printable';
import { optionsOfField, type QuestionField, type ToolQuestion } from './questions';

/**
 * Formats a tool's question for people: who asks, the message, and each field of its form with what it takes. Each line begins with a fixed mark, so
 * none can look like another. Bounded, because the parts of a question are.
 */
export function questionLines({ from, message, schema, url }: ToolQuestion): string[] {
  const [first = '', ...more] = countedBlanks(printable(message)).split('\n');
  const fields = Object.entries(schema?.properties ?? {});
  return [
    `? ${printableLine(from)} asks: ${first}`,
    ...more.map((line) => `│ ${line}`),
    ...(url === undefined ? [] : [`→ to visit: ${printableLine(url)}`]),
    ...fields.flatMap(([name, field]) => fieldLines(name, field, schema?.required?.includes(name) ?? false)),
  ];
}

/** A field of a form: its name, its words, what it takes, and its options. */
export function fieldLines(name: string, field: QuestionField, required: boolean): string[] {
  const { title, description } = field;
  const words = [title, description].filter((text) => text !== undefined).map(shown);
  const about = words.length > 0 ? `: ${words.join('. ')}` : '';
  return [
    `- ${shown(name)}${about} (${takes(field)}${required ? ', required' : ''}${defaultWords(field)})`,
    ...(optionsOfField(field) ?? []).map(({ const: value, title: label }) =>
      label === value ? `  · ${shown(value)}` : `  · ${shown(value)}: ${shown(label)}`,
    ),
  ];
}

function takes(field: QuestionField): string {
  switch (field.type) {
    case 'boolean':
      return 'true or false';
    case 'integer':
    case 'number':
      return `${field.type === 'integer' ? 'a whole number' : 'a number'}${range(field.minimum, field.maximum, '')}`;
    case 'array':
      return `any of these${range(field.minItems, field.maxItems, ' of them')}`;
    case 'string': {
      if (optionsOfField(field)) return 'one of these';
      const { format, minLength, maxLength } = field as { format?: string; minLength?: number; maxLength?: number };
      return `${format ?? 'text'}${range(minLength, maxLength, ' characters')}`;
    }
  }
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  if (min === undefined && max === undefined) return '';
  if (max === undefined) return `, at least ${min}${unit}`;
  return min === undefined ? `, at most ${max}${unit}` : `, ${min} to ${max}${unit}`;
}

function defaultWords({ default: value }: QuestionField): string {
  return value === undefined ? '' : `, usually ${shown(JSON.stringify(value))}`;
}

function shown(text: string): string {
  return countedBlanks(printableLine(text));
}
