import type { Thread } from '../../client';
import { limitNames } from '../../core/agent';
import { argumentLines, type Room } from '../../core/argument-lines';
import type { PendingCall } from '../../core/event';
import { excerpt, parseObject } from '../../core/json';
import { printableLine } from '../../core/printable';
import { questionLines } from '../../core/question-lines';
import { lineOf } from '../exit';
import { choices, optionsOf, type Question, questionOf, rulesOf, rulesWords, whomWords } from '../views/render-people';
import { type Part, paint, Styled, styled } from '../views/styled';
import { count, minute } from '../views/words';
import { type Approvals, hasVoted, isFor, stillPending } from './approvals';
import { askForm } from './ask-form';
import { NoAnswer, type Prompt } from './prompt';

export interface Person {
  prompt: Prompt;
  write(text: Styled): void;
  /** The columns of the terminal that this writes to, if it is one. */
  columns?: number | undefined;
  /** Who decides (for the log), and in which groups. */
  by?: string;
  groups?: string[];
  /** Called when the question of a call is on the screen. */
  onAsked?: (toolCallId: string) => void;
  /** Called when the person has left (end of input), or an answer could not be sent. */
  onGone(error: unknown): void;
}

/** A key that can't be a call's id, because ids have no control characters. */
const paused = '\0';

/** Asks the person at the terminal, one question after another, while events continue. */
export function askPerson(thread: Thread, asker: Person): Approvals {
  const { columns } = asker;
  // Untrusted text is wrapped here and not by the terminal, so that none of its rows looks like one of ours.
  const person: Person = { ...asker, write: (text) => asker.write(text.fit(columns)) };
  const open = new Map<string, AbortController>();
  let queue: Promise<void> = Promise.resolve();
  const ask = (id: string, question: (signal: AbortSignal) => Promise<void>) => {
    if (open.has(id)) return;
    const withdrawn = new AbortController();
    open.set(id, withdrawn);
    queue = queue
      .then(() => (withdrawn.signal.aborted ? undefined : question(withdrawn.signal)))
      .catch((error) => (withdrawn.signal.aborted ? undefined : person.onGone(error)))
      .finally(() => open.get(id) === withdrawn && open.delete(id));
  };
  return {
    async offer(pending) {
      for (const call of await stillPending(thread, pending)) {
        if (!isAskedOf(thread, call, person)) continue;
        ask(call.toolCallId, (signal) => untilAnswered({ thread, call, signal, ...person }));
      }
      return 'answering';
    },
    async paused() {
      const { paused: why } = await thread.status();
      if (why) ask(paused, (signal) => askToResume({ thread, signal, ...person }));
      return 'answering';
    },
    decided: (id) => open.get(id)?.abort(),
    resumed: () => open.get(paused)?.abort(),
  };
}

interface Asking extends Omit<Person, 'onGone'> {
  thread: Thread;
  call: PendingCall;
  signal: AbortSignal;
}

/** Asks the question until it is answered. If the thread refuses an answer, prints why and asks again. */
async function untilAnswered(asking: Asking): Promise<void> {
  const { thread, call, write, prompt, signal } = asking;
  await prompt.ready(signal);
  write(introductionTo(call));
  asking.onAsked?.(call.toolCallId);
  for (;;) {
    try {
      if ((await answers[call.kind]?.(asking)) !== false) return;
    } catch (error) {
      if (error instanceof NoAnswer || (error as { code?: string }).code !== 'request-refused') throw error;
      write(styled`${paint.red(lineOf(error))}\n`);
      if ((await stillPending(thread, [call])).length === 0) return;
    }
  }
}

/** Each returns whether an answer was given. Kinds without one have commands of their own. */
const answers: Record<PendingCall['kind'], ((asking: Asking) => Promise<boolean>) | undefined> = {
  approval: decide,
  question: answerQuestion,
  'tool-question': answerToolQuestion,
  limit: decideLimit,
  reply,
  output: undefined,
  outcome: undefined,
};

/**
 * Whether this person is asked about a call at the prompt. Not for kinds that have commands of their own, calls for other people, and calls that this
 * person has already approved; and a signed decision needs a key.
 */
export function isAskedOf(thread: Thread, call: PendingCall, person: Pick<Person, 'by' | 'groups'>): boolean {
  if (!answers[call.kind] || !isFor(call, person) || hasVoted(call, person.by)) return false;
  return !call.signed || thread.client.options.signer !== undefined;
}

async function decide(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal, write } = asking;
  const { toolCallId: id } = call;
  const cut = argumentLines(call.arguments, room).left > 0;
  const canRemember = rulesOf(call).length > 0;
  const choices = paint.dim(`[y]es, [n]o, no and [s]top, [e]dit${canRemember ? ', [r]emember' : ''}${cut ? ', [v]iew all of it' : ''}`);
  const answer = (await prompt.ask(styled`Run ${paint.bold(call.name)}? ${choices} `, signal)).trim().toLowerCase();
  if (isOne(answer, 'view')) {
    write(argumentsOf(call));
    return false;
  }
  if (isOne(answer, 'yes')) {
    await thread.approve(id, { ...who(asking), expect: call });
    return true;
  }
  if (isOne(answer, 'no') || isOne(answer, 'stop')) {
    const stop = isOne(answer, 'stop');
    const reason = (await prompt.ask(styled`Why not? The reason is sent to the agent (Enter: no reason) `, signal)).trim();
    await thread.reject(id, { ...who(asking), expect: call, ...(reason && { reason }), ...(stop && { stop }) });
    return true;
  }
  if (isOne(answer, 'edit')) {
    const edited = parseObject(await prompt.ask(styled`Arguments as one line of JSON: `, signal));
    if (edited) {
      await thread.approve(id, { ...who(asking), expect: call, arguments: edited });
      return true;
    }
    write(styled`That is not a JSON object; nothing was changed.\n`);
    return false;
  }
  if (canRemember && isOne(answer, 'remember')) return remember(asking);
  return notOffered(asking, answer);
}

/** Says that an answer is none of those that the prompt offers. The prompt is then shown again. */
function notOffered({ write }: Pick<Asking, 'write'>, answer: string): false {
  if (answer !== '') write(styled`"${excerpt(answer, 100)}" is not one of the answers; type one of the words, or its letter.\n`);
  return false;
}

async function remember(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal, write } = asking;
  const rules = rulesWords(rulesOf(call));
  write(styled`Yes, and ${paint.bold(rules)} needs no approval from now on:\n`);
  const question = styled`in this [t]hread, or in all threads of this [a]gent? (Enter: back) `;
  const answer = (await prompt.ask(question, signal)).trim().toLowerCase();
  const scope = isOne(answer, 'thread') ? 'thread' : isOne(answer, 'agent') ? 'agent' : undefined;
  if (!scope) return false;
  await thread.approve(call.toolCallId, { ...who(asking), expect: call, remember: scope });
  return true;
}

async function answerQuestion(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal, write } = asking;
  const options = optionsOf(call.arguments);
  const whole = questionOf(call);
  const shown = questionOf(call, room);
  const cut = shown.left > 0;
  const how = options.length > 0 ? 'A number, or words of your own' : 'Your answer';
  for (let seen = !cut; ; ) {
    const answer = (await prompt.ask(styled`${how}${cut ? paint.dim(' ([v]iew all of it)') : ''}: `, signal)).trim();
    if (answer === '') continue;
    const at = /^\d+$/.test(answer) ? Number(answer) - 1 : -1;
    const chosen = options[at];
    // Two options may differ only in the part that was cut.
    if ((cut && isOne(answer.toLowerCase(), 'view')) || (!seen && shown.options[at] !== whole.options[at])) {
      write(asked(whole));
      seen = true;
      continue;
    }
    write(styled`The agent gets: ${chosen ?? answer}\n`);
    await thread.answer(call.toolCallId, chosen ?? answer, who(asking));
    return true;
  }
}

async function answerToolQuestion(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal, write } = asking;
  const { toolCallId: id, question } = call;
  if (!question) return true;
  const reply = { ...who(asking), question };
  const accept = question.schema ? '[a]nswer' : '[a]ccept';
  const words = (await prompt.ask(styled`${paint.dim(`${accept}, [d]ecline, [c]ancel (no answer)`)} `, signal)).trim().toLowerCase();
  if (isOne(words, 'decline')) await thread.answerQuestion(id, { ...reply, action: 'decline' });
  else if (isOne(words, 'cancel')) await thread.answerQuestion(id, { ...reply, action: 'cancel' });
  else if (isOne(words, 'answer') || isOne(words, 'accept')) {
    const form = question.schema && (await askForm(question.schema, (line) => prompt.ask(line, signal), write));
    await thread.answerQuestion(id, { ...reply, ...(form && { content: form }) });
  } else return notOffered(asking, words);
  return true;
}

async function decideLimit(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal } = asking;
  const { toolCallId: id } = call;
  const decision = { ...who(asking), expect: call };
  const words = paint.dim('[y]es (as much again), a number, [n]o');
  const answer = (
    await prompt.ask(styled`Allow more ${paint.bold(limitNames.find((name) => name === call.name) ?? 'of it')}? ${words} `, signal)
  )
    .trim()
    .toLowerCase();
  const more = Number(answer);
  if (isOne(answer, 'yes')) await thread.approve(id, decision);
  else if (isOne(answer, 'no')) await thread.reject(id, decision);
  else if (answer !== '' && more > 0) await thread.approve(id, { ...decision, more });
  else return notOffered(asking, answer);
  return true;
}

async function reply({ thread, call, prompt, signal }: Asking): Promise<boolean> {
  const words = (await prompt.ask(styled`Your reply: `, signal)).trim();
  if (words === '') return false;
  await thread.send(words, { correlationId: call.toolCallId });
  return true;
}

async function askToResume({ thread, prompt, signal, by, write }: Omit<Asking, 'call'>): Promise<void> {
  for (;;) {
    const answer = (await prompt.ask(styled`It is paused. ${paint.dim('[r]esume, or keep [w]atching')} `, signal)).trim().toLowerCase();
    if (isOne(answer, 'watch')) return;
    if (!isOne(answer, 'resume')) {
      notOffered({ write }, answer);
      continue;
    }
    try {
      await thread.resume({ ...(by && { by }) });
    } catch (error) {
      // Somebody else has already resumed it.
      if ((error as { code?: string }).code !== 'request-refused') throw error;
    }
    return;
  }
}

function who({ by, groups }: Pick<Person, 'by' | 'groups'>): { by?: string; groups?: string[] } {
  return { ...(by && { by }), ...(groups && { groups }) };
}

/** The word, or its first letter. */
function isOne(answer: string, word: string): boolean {
  return answer === word || answer === word[0];
}

function introductionTo(call: PendingCall): Styled {
  const about = [whomWords(call), call.digest ?? ''].filter(Boolean).join(' · ');
  const whom = about ? styled` ${paint.dim(`(${about})`)}` : '';
  switch (call.kind) {
    case 'question':
      return asked(questionOf(call, room), whom);
    case 'tool-question': {
      // The fields are printed one by one when they are asked for.
      const { schema, ...question } = call.question ?? { id: '', from: call.name, message: '' };
      const fields = Object.keys(schema?.properties ?? {});
      const form = fields.length > 0 ? [`${count(fields.length, 'field')}: ${excerpt(printableLine(fields.join(', ')), 200)}`] : [];
      return Styled.join(
        [...questionLines(question), ...form].map((row, i) =>
          i === 0
            ? styled`${paint.yellow(row)} ${paint.dim(`(${[call.name, about].filter(Boolean).join(' · ')})`)}\n`
            : styled`    ${Styled.lines(row)}\n`,
        ),
      );
    }
    case 'limit':
      return styled`${paint.yellow(`? ${call.reason ?? `The limit of ${call.name} is reached.`}`)}\n`;
    case 'reply':
      return styled`${paint.yellow(`The run waits until someone replies${call.dueAt ? `, ${minute(call.dueAt)} at the latest` : ''}.`)}\n`;
    default: {
      const reason = call.reason ? `: ${call.reason}` : '';
      return styled`${paint.yellow(`The agent asks to run ${call.name}${reason}`)}${whom}\n${argumentsOf(call, room)}`;
    }
  }
}

/** The room above the question. Longer text is shown on request. */
const room = { lines: 40, chars: 4_000 };

function asked(question: Question, whom: Part = ''): Styled {
  const rows = choices(question, (i) => `${i + 1}  `).map((row) => styled`    ${row}\n`);
  return styled`${paint.yellow(`The agent asks: ${question.question}`)}${whom}\n${Styled.join(rows)}`;
}

/** The arguments as the tool receives them, in the order of its schema. */
function argumentsOf({ arguments: args }: PendingCall, within?: Room): Styled {
  return Styled.join(argumentLines(args, within).lines.map((text) => styled`    ${Styled.lines(text)}\n`));
}
