import { bounds } from '../../core/bounds';
import { excerpt } from '../../core/json';
import { printableLine } from '../../core/printable';
import type { AnswerAction, QuestionAnswer } from '../../core/questions';
import { CallQuestion } from '../defining/call-question';
import type { SecretMask } from '../running/secret-mask';
import { type ReadQuestion, readQuestion } from './read-question';

/** What a server gets for `elicitation/create`; or why its question can't be asked. */
export type Elicited = { action: AnswerAction; content?: Record<string, string | number | boolean | string[]> } | { refused: string };

const notedChars = 500;

/**
 * The questions of a server during one attempt at a call. Those that were answered before get their answers, in order. The first other one ends the
 * attempt: `asked` rejects with `CallQuestion`.
 */
export class CallQuestions {
  /** Rejects when the call is to end at a question. Never resolves. */
  readonly asked: Promise<never>;
  /** What the model is told of questions that were not asked. */
  readonly notes: string[] = [];
  readonly #left: QuestionAnswer[];
  readonly #seen = new Map<string, number>();
  #end: (question: CallQuestion) => void = () => undefined;

  constructor(
    private readonly server: string,
    private readonly secret: () => SecretMask,
    /** Absent: the call can't ask people. */
    private readonly answers: readonly QuestionAnswer[] | undefined,
  ) {
    this.#left = [...(answers ?? [])];
    this.asked = new Promise((_, reject) => {
      this.#end = reject;
    });
    this.asked.catch(() => undefined);
  }

  /** Answers a question of the server. Never settles if the call ends at it. */
  async answer(params: unknown): Promise<Elicited> {
    let question: ReadQuestion;
    try {
      question = readQuestion(params, this.secret());
    } catch (error) {
      return this.#refuse((error as Error).message);
    }
    if (!this.answers) {
      this.#note(
        `declined, because this call can't wait for a person. It was: "${excerpt(printableLine(question.message), notedChars)}". If the answer is known, pass it as an argument, if there is one for it`,
      );
      return { action: 'decline' };
    }
    const nth = (this.#seen.get(question.id) ?? 0) + 1;
    this.#seen.set(question.id, nth);
    const id = nth === 1 ? question.id : `${question.id}_${nth}`;
    const at = this.#left.findIndex(({ questionId }) => questionId === id);
    const [known] = at === -1 ? [] : this.#left.splice(at, 1);
    if (known) return { action: known.action, ...(known.content && { content: known.content as Record<string, string> }) };
    if (this.answers.length >= bounds.callQuestions) return this.#refuse(`a call may ask people at most ${bounds.callQuestions} questions`);
    if (this.#left.length >= bounds.callUnusedAnswers) {
      return this.#refuse(
        `people have answered ${this.#left.length} questions of this call that the server does not ask again. When a call runs again, its server must ask the same, word for word: leave times and random numbers out of questions`,
      );
    }
    this.#end(new CallQuestion({ ...question, id, from: this.server }));
    return new Promise(() => undefined);
  }

  #refuse(refused: string): Elicited {
    this.#note(`not passed on: ${refused}`);
    return { refused };
  }

  /** Bounded, because a server may ask the same again and again. */
  #note(what: string): void {
    if (this.notes.length < 3) this.notes.push(`[The MCP server '${this.server}' asked the user a question, which was ${what}.]`);
  }
}
