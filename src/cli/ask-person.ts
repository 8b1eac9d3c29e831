import type { Thread } from '../client';
import { limitNames } from '../core/agent';
import { argumentLines, type Room } from '../core/argument-lines';
import type { PendingCall } from '../core/event';
import { parseObject } from '../core/json';
import { type Approvals, hasVoted, isFor, stillPending } from './approvals';
import { lineOf } from './exit';
import { NoAnswer, type Prompt } from './prompt';
import { questionOf, rulesWords, whomWords } from './render-people';
import { paint, Styled, styled } from './styled';
import { minute } from './words';

export interface Person {
  prompt: Prompt;
  write(text: Styled): void;
  /** Who decides, for the log, and in which groups. */
  by?: string;
  groups?: string[];
  /** The person has left (end of input), or an answer could not be given. */
  onGone(error: unknown): void;
}

const paused = 'paused';

/** Asks the person at the terminal, one thing after another, while events go on. */
export function askPerson(thread: Thread, person: Person): Approvals {
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
        // An output is nobody's to type in; who is not asked can't answer; and who has agreed already waits for the others.
        if (call.kind === 'output' || !isFor(call, person) || hasVoted(call, person.by)) continue;
        // Nor can who has no key.
        if (call.signed && !thread.client.options.signer) continue;
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

/** Puts the question until it is answered: what the thread refuses is told, and asked again. */
async function untilAnswered(asking: Asking): Promise<void> {
  const { thread, call, write, prompt, signal } = asking;
  await prompt.ready(signal);
  write(introductionTo(call));
  for (;;) {
    try {
      if (await answers[call.kind](asking)) return;
    } catch (error) {
      if (error instanceof NoAnswer || (error as { code?: string }).code !== 'request-refused') throw error;
      write(styled`${paint.red(lineOf(error))}\n`);
      if ((await stillPending(thread, [call])).length === 0) return;
    }
  }
}

/** Each says whether an answer was given. */
const answers: Record<PendingCall['kind'], (asking: Asking) => Promise<boolean>> = {
  approval: decide,
  question: answerQuestion,
  limit: decideLimit,
  reply,
  output: () => Promise.resolve(true),
};

async function decide(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal, write } = asking;
  const { toolCallId: id } = call;
  const cut = argumentLines(call.arguments, room).left > 0;
  const choices = paint.dim(`[y]es, [n]o, no and [s]top, [e]dit, [r]emember${cut ? ', [v]iew all of it' : ''}`);
  const answer = (await prompt.ask(styled`Run ${paint.bold(call.name)}? ${choices} `, signal)).trim().toLowerCase();
  if (isOne(answer, 'view')) {
    write(argumentsOf(call));
    return false;
  }
  if (isOne(answer, 'yes')) {
    await thread.approve(id, { ...who(asking), ...asShown(call) });
    return true;
  }
  if (isOne(answer, 'no') || isOne(answer, 'stop')) {
    const stop = isOne(answer, 'stop');
    const reason = (await prompt.ask(styled`Why not? The agent is told (Enter: no reason) `, signal)).trim();
    await thread.reject(id, { ...who(asking), ...(reason && { reason }), ...(stop && { stop }) });
    return true;
  }
  if (isOne(answer, 'edit')) {
    const edited = parseObject(await prompt.ask(styled`Arguments as one line of JSON: `, signal));
    if (edited) {
      await thread.approve(id, { ...who(asking), ...asShown(call), arguments: edited });
      return true;
    }
    write(styled`That is no JSON object; nothing was changed.\n`);
  }
  return isOne(answer, 'remember') && remember(asking);
}

async function remember(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal } = asking;
  const rules = rulesWords(call.remember ?? [{ tool: call.name }]);
  const question = styled`Yes, and ${paint.bold(rules)} needs no approval any more: in this [t]hread, or ever for this [a]gent? (Enter: back) `;
  const answer = (await prompt.ask(question, signal)).trim().toLowerCase();
  const scope = isOne(answer, 'thread') ? 'thread' : isOne(answer, 'agent') ? 'agent' : undefined;
  if (!scope) return false;
  await thread.approve(call.toolCallId, { ...who(asking), ...asShown(call), remember: scope });
  return true;
}

async function answerQuestion(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal } = asking;
  const options = optionsOf(call);
  const answer = (await prompt.ask(options.length > 0 ? styled`A number, or words of your own: ` : styled`Your answer: `, signal)).trim();
  if (answer === '') return false;
  const chosen = /^\d+$/.test(answer) ? options[Number(answer) - 1] : undefined;
  await thread.answer(call.toolCallId, chosen ?? answer, who(asking));
  return true;
}

async function decideLimit(asking: Asking): Promise<boolean> {
  const { thread, call, prompt, signal } = asking;
  const words = paint.dim('[y]es (as much again), a number, [n]o');
  const answer = (
    await prompt.ask(styled`Allow more ${paint.bold(limitNames.find((name) => name === call.name) ?? 'of it')}? ${words} `, signal)
  )
    .trim()
    .toLowerCase();
  const more = Number(answer);
  if (isOne(answer, 'yes')) await thread.approve(call.toolCallId, who(asking));
  else if (isOne(answer, 'no')) await thread.reject(call.toolCallId, who(asking));
  else if (answer !== '' && more > 0) await thread.approve(call.toolCallId, { ...who(asking), more });
  else return false;
  return true;
}

async function reply({ thread, call, prompt, signal }: Asking): Promise<boolean> {
  const words = (await prompt.ask(styled`Your reply: `, signal)).trim();
  if (words === '') return false;
  await thread.send(words, { correlationId: call.toolCallId });
  return true;
}

async function askToResume({ thread, prompt, signal, by }: Omit<Asking, 'call'>): Promise<void> {
  for (;;) {
    const answer = (await prompt.ask(styled`It is paused. ${paint.dim('[r]esume, or [w]atch on')} `, signal)).trim().toLowerCase();
    if (isOne(answer, 'watch')) return;
    if (!isOne(answer, 'resume')) continue;
    try {
      await thread.resume({ ...(by && { by }) });
    } catch (error) {
      // Somebody was faster.
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
  const asked = about ? styled` ${paint.dim(`(${about})`)}` : '';
  switch (call.kind) {
    case 'question': {
      const options = optionsOf(call).map((option, i) => styled`    ${i + 1}  ${option}\n`);
      const question = questionOf({ ...call, arguments: withoutOptions(call) });
      return styled`${paint.yellow(`The agent asks: ${question}`)}${asked}\n${Styled.join(options)}`;
    }
    case 'limit':
      return styled`${paint.yellow(call.reason ?? `The limit of ${call.name} is reached.`)}\n`;
    case 'reply':
      return styled`${paint.yellow(`It rests until someone replies${call.dueAt ? `, ${minute(call.dueAt)} at the latest` : ''}.`)}\n`;
    default: {
      const reason = call.reason ? `: ${call.reason}` : '';
      return styled`${paint.yellow(`The agent asks to run ${call.name}${reason}`)}${asked}\n${argumentsOf(call, room)}`;
    }
  }
}

/** Above the question; what is longer is shown when it is asked for. */
const room = { lines: 40, chars: 4_000 };

/** The arguments as the tool takes them, the first one first. */
function argumentsOf({ arguments: args }: PendingCall, within?: Room): Styled {
  return Styled.join(argumentLines(args, within).lines.map((text) => styled`    ${Styled.lines(text)}\n`));
}

/** What was on the screen is agreed to, and nothing else. */
function asShown({ digest }: PendingCall): { expect?: string } {
  return digest ? { expect: digest } : {};
}

function optionsOf({ arguments: args }: PendingCall): string[] {
  const { options } = parseObject(args) ?? {};
  return Array.isArray(options) ? options.map(String) : [];
}

function withoutOptions({ arguments: args }: PendingCall): string {
  const { options: _, ...rest } = parseObject(args) ?? {};
  return Object.keys(rest).length > 0 ? JSON.stringify(rest) : args;
}
