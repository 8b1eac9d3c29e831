import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineTool, type Tool, ToolFailure } from 'longhaul';
import { notedEffects, noteEffect } from 'longhaul/testing';
import { z } from 'zod';

const input = z.object({ id: z.string() });

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input,
  effect: 'pure',
  execute: ({ id }) => `${id} costs 900`,
});

/** A service that honours keys, and one that ignores them. */
const chargeBy = (honoursKeys: boolean): Tool =>
  defineTool({
    name: 'charge',
    description: 'Charges a card.',
    input,
    effect: 'keyed',
    execute({ id }, { threadId, idempotencyKey }) {
      noteEffect({ threadId, tool: 'charge', what: `charged ${id}`, ...(honoursKeys && { key: idempotencyKey }) });
      return `charged ${id}`;
    },
  });

const mailBy = (onUnknown: 'tell-model' | 'fail-run'): Tool =>
  defineTool({
    name: 'mail',
    description: 'Sends a mail.',
    input,
    effect: 'once',
    onUnknown,
    execute({ id }, { threadId }) {
      noteEffect({ threadId, tool: 'mail', what: `mailed ${id}` });
      return `mailed ${id}`;
    },
  });

const transfer = defineTool({
  name: 'transfer',
  description: 'Transfers money.',
  input,
  effect: 'verify',
  execute({ id }, { threadId, idempotencyKey: key }) {
    noteEffect({ threadId, tool: 'transfer', what: `transferred ${id}`, key });
    return `transferred ${id}`;
  },
  probe({ idempotencyKey, args: { id } }, { threadId }) {
    const isDone = notedEffects(threadId).some(({ key }) => key === idempotencyKey);
    return isDone ? { status: 'done', output: `transferred ${id}` } : { status: 'not-done' };
  },
});

const book = defineTool({
  name: 'book',
  description: 'Books a room.',
  input,
  effect: 'saga',
  execute({ id }, { threadId }) {
    // A worker that was frozen may come after the compensation.
    if (notedEffects(threadId).some(({ what }) => what === `cancelled ${id}`)) throw new ToolFailure(`${id} was cancelled`);
    noteEffect({ threadId, tool: 'book', what: `booked ${id}` });
    return `booked ${id}`;
  },
  compensate: ({ id }, _, { threadId, idempotencyKey: key }) => noteEffect({ threadId, tool: 'book', what: `cancelled ${id}`, key }),
});

/** Runs only after an approval, and leaves its effect in its folder. */
const write = defineTool({
  name: 'write',
  description: 'Writes a file.',
  input,
  effect: 'keyed',
  approval: 'always',
  execute({ id }, { workspace }) {
    writeFileSync(join(workspace, id), id);
    return `wrote ${id}`;
  },
});

const agentWith = (name: string, tools: Tool[]) =>
  defineAgent({ name, model: 'openai/gpt-5', instructions: 'Work.', tools, retry: { maxAttempts: 1 } });

export const eachEffect = agentWith('each-effect', [look, chargeBy(true), mailBy('tell-model'), transfer, book]);
export const ignoresKeys = agentWith('ignores-keys', [chargeBy(false)]);
export const failsUnknown = agentWith('fails-unknown', [mailBy('fail-run')]);
export const asks = agentWith('asks', [write]);
