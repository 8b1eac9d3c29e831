import pc from 'picocolors';
import { printable, printableJson, printableLine, printableSince } from '../core/printable';

/** Whatever a text is made of: a string is somebody's, and stands in it on one line, with nothing in it that controls a terminal. */
export type Part = Styled | string | number;

/**
 * Text for a terminal. What a command prints is of this type, and it can be made in these ways only: so what a model, a tool or a person
 * says moves no cursor, forges no line and hides nothing, and the colours are ours.
 */
export class Styled {
  private constructor(
    readonly text: string,
    /** Without colours. */
    readonly length: number,
  ) {}

  /** Our own words are as they are written; values are parts. */
  static of(words: TemplateStringsArray, ...values: Part[]): Styled {
    const parts = words.flatMap((own, i) => [...(i === 0 ? [] : [made(values[i - 1] ?? '')]), new Styled(own, own.length)]);
    return Styled.sum(parts);
  }

  /** Somebody's text with its line breaks. */
  static lines(text: string): Styled {
    const shown = printable(text);
    return new Styled(shown, shown.length);
  }

  /** What is new in somebody's text that grows, from `from` on up to `to`. See `printableSince`. */
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

  /** `colour` must add nothing that is seen. */
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

/** As the terminal, and the environment, want it. */
export const paint = paintWith(pc);
