import pc from 'picocolors';
import { printable, printableJson, printableLine, printableSince } from '../../core/printable';
import { fitted, withoutColours } from './wrap';

/** A part of a text. A string is untrusted: it is put on one line, without anything that controls a terminal. */
export type Part = Styled | string | number;

/**
 * Text for a terminal. All output of the commands has this type, which can be created only with these methods. So text of a model, a tool or a person
 * can't move the cursor, forge a line, hide anything or set colours.
 */
export class Styled {
  private constructor(
    readonly text: string,
    /** The length without colours. */
    readonly length: number,
  ) {}

  /** Template tag: the literal text is trusted, values are parts. */
  static of(words: TemplateStringsArray, ...values: Part[]): Styled {
    const parts = words.flatMap((own, i) => [...(i === 0 ? [] : [made(values[i - 1] ?? '')]), new Styled(own, own.length)]);
    return Styled.sum(parts);
  }

  /** Untrusted text with its line breaks. */
  static lines(text: string): Styled {
    const shown = printable(text);
    return new Styled(shown, shown.length);
  }

  /** The new part of an untrusted growing text, from `from` up to `to`. See `printableSince`. */
  static since(text: string, from: number, whole: boolean): { added: Styled; to: number } {
    const { part, to } = printableSince(text, from, whole);
    return { added: new Styled(part, part.length), to };
  }

  static json(value: unknown): Styled {
    const json = printableJson(value);
    return new Styled(json, json.length);
  }

  static join(parts: readonly Part[], separator: Part = ''): Styled {
    const between = made(separator);
    return Styled.sum(parts.flatMap((part, i) => [...(i === 0 ? [] : [between]), made(part)]));
  }

  /** `colour` must not add visible characters. */
  static coloured(colour: (text: string) => string): (part: Part) => Styled {
    return (part) => {
      const { text, length } = made(part);
      return new Styled(colour(text), length);
    };
  }

  padEnd(width: number): Styled {
    return new Styled(this.text + ' '.repeat(Math.max(0, width - this.length)), Math.max(width, this.length));
  }

  trimEnd(): Styled {
    const text = this.text.trimEnd();
    return new Styled(text, this.length - (this.text.length - text.length));
  }

  /** Wraps the text to a terminal with this number of columns, if there is a terminal: see `fitted`. */
  fit(columns: number | undefined): Styled {
    // A terminal that does not know its width reports 0.
    if (!columns) return this;
    const text = fitted(this.text, columns);
    return new Styled(text, withoutColours(text).length);
  }

  private static sum(parts: readonly Styled[]): Styled {
    return new Styled(
      parts.map(({ text }) => text).join(''),
      parts.reduce((length, part) => length + part.length, 0),
    );
  }

  static line(text: string): Styled {
    const shown = printableLine(text);
    return new Styled(shown, shown.length);
  }
}

function made(part: Part): Styled {
  return part instanceof Styled ? part : Styled.line(String(part));
}

export const styled = Styled.of;

/** The colours that a view uses. */
export type Paint = Record<(typeof colours)[number], (part: Part) => Styled>;

const colours = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const;

export function paintWith(style: Record<keyof Paint, (text: string) => string>): Paint {
  return Object.fromEntries(colours.map((name) => [name, Styled.coloured(style[name])])) as Paint;
}

/** Colours as the terminal and the environment require. */
export const paint = paintWith(pc);
