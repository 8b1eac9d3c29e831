// @ts-check
'use strict';

const final = 'Looked, booked and paid.';

/** Starts a model server that answers by turn; one answer at a time can be held back. @param {any} testing */
async function scriptedModel({ startModelServer, byTurn, callTools, say }) {
  const answer = byTurn([
    callTools([
      { name: 'look', args: { key: 'weather' } },
      { name: 'look', args: { key: 'prices' } },
    ]),
    callTools([{ name: 'book', args: { what: 'a seat' } }]),
    callTools([{ name: 'pay', args: { cents: 4_200 } }]),
    say(final),
  ]);
  /** @type {{ input: string, turn: number, released: Promise<void>, release: () => void, asked: boolean } | undefined} */
  let held;
  const server = await startModelServer(async (/** @type {any} */ request) => {
    if (held && request.input === held.input && request.turn === held.turn) {
      held.asked = true;
      await held.released;
    }
    return answer(request);
  });
  return {
    url: server.url,
    stop: server.stop,
    /** @param {string} input @param {number} turn */
    hold(input, turn) {
      let release = () => {};
      const released = new Promise((/** @type {(value: void) => void} */ resolve) => {
        release = resolve;
      });
      held = { input, turn, released, release, asked: false };
    },
    isHolding: () => held?.asked === true,
    release() {
      held?.release();
      held = undefined;
    },
  };
}

module.exports = { final, scriptedModel };
