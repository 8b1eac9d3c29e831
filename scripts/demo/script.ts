import { callTools, type Pace, type Reply, type ScriptRequest, say, slowly } from '../../src/testing/model-server';
import { fixed } from './project';

// The model's answers if there is no API key. They depend on the turn, so that a request that is repeated after a kill gets the same answer.
// Only the model's text is scripted; the files, the commands and their output are real.

const quick: Pace = { chunkMs: 30, chunkSize: 6 };
/** Slow enough to be killed in the middle. */
const slow: Pace = { chunkMs: 60, chunkSize: 6 };

const testCommand = { name: 'shell', args: { command: 'node --test --test-reporter=spec' } };

const diagnosis = `The test says 1249 where 1999 is right: the difference is 750, three times 250. So an item that was bought four times is counted once.
total() adds item.cents and never looks at item.quantity. The discount is taken off the sum afterwards, so the second test fails for the same reason.
The fix is one expression: cents times quantity, where an item without a quantity counts as one. I write the whole file, and change nothing else.`;

const turns: Reply[] = [
  slowly(callTools([{ name: 'list_dir', args: { path: '.' } }], "I'll see what is here first."), quick),
  slowly(
    callTools(
      [
        { name: 'read_file', args: { path: 'invoice.js' } },
        { name: 'read_file', args: { path: 'invoice.test.js' } },
      ],
      'A module and its test. I read both.',
    ),
    quick,
  ),
  slowly(callTools([testCommand], 'Before I change anything I want to see it fail.'), quick),
  slowly(callTools([{ name: 'write_file', args: { path: 'invoice.js', content: fixed } }], diagnosis), slow),
  slowly(callTools([testCommand], 'Now I run the test again.'), quick),
  slowly(
    callTools(
      [{ name: 'shell', args: { command: 'node publish.js' } }],
      'Both pass. The last step is to publish, which a person must approve.',
    ),
    quick,
  ),
];

export function scriptedModel({ turn, messages }: ScriptRequest): Reply {
  const reply = turns[turn];
  if (reply) return reply;
  const last = messages.at(-1)?.content;
  const published = typeof last === 'string' && last.startsWith('published');
  const end = published ? 'Version 1.0.1 is published.' : 'It is not published, because publishing was refused.';
  return slowly(say(`Done. total() in invoice.js ignored the quantity of an item; now it counts, and both tests pass. ${end}`), quick);
}
