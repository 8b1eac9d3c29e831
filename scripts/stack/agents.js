// @ts-check
'use strict';

// Agents for the image's worker, in a file as docs/deployment.md describes. The file is copied next to the build and imports it by the package
// name. Every execution of a tool appends a line to the file JOURNAL, so that a second execution is visible.

const { appendFileSync } = require('node:fs');
const { defineAgent, defineTool } = require('longhaul');
const { z } = require('zod');

const journal = process.env.JOURNAL ?? '';

/** @param {string} tool @param {{ threadId: string, toolCallId: string, attempt: number }} ctx */
const note = (tool, { threadId, toolCallId, attempt }) =>
  appendFileSync(journal, `${JSON.stringify({ threadId, tool, toolCallId, attempt })}\n`);

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ key: z.string() }),
  effect: 'pure',
  execute({ key }, ctx) {
    note('look', ctx);
    return `${key} is ${key.length}`;
  },
});

const book = defineTool({
  name: 'book',
  description: 'Books something, which must not happen twice.',
  input: z.object({ what: z.string() }),
  effect: 'once',
  execute({ what }, ctx) {
    note('book', ctx);
    return `booked ${what}`;
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays for it, if a person agrees.',
  input: z.object({ cents: z.number().int() }),
  effect: 'keyed',
  approval: 'always',
  execute({ cents }, ctx) {
    note('pay', ctx);
    return `paid ${cents}`;
  },
});

const clerk = defineAgent({
  name: 'clerk',
  model: 'openai/scripted',
  instructions: 'Look, book, pay, and say so.',
  tools: [look, book, pay],
});

module.exports = { clerk };
