import { condition, defineQuery, defineUpdate, setHandler, sleep } from '@temporalio/workflow';

/** What it does next depends on whether the update came in its first task: a decision on the workflow's own clock, as any may make. */
export async function pokedLater(): Promise<string> {
  let poked = false;
  setHandler(defineQuery('look'), () => poked);
  setHandler(defineUpdate('poke'), () => {
    poked = true;
  });
  const began = Date.now();
  await condition(() => poked);
  if (Date.now() === began) await sleep(1);
  await sleep(1);
  return 'poked';
}
