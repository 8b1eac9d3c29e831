import { join } from 'node:path';
import { BoundedThread } from '../defining/bounded-thread';
import { type Search, type SearchAnswer, threadName } from './search-thread.js';

const thread = { file: join(__dirname, 'search-thread.js'), name: threadName, what: 'the search', ms: 5_000, mb: 256 };

/** Searches a text in a thread of its own. Rejects if the pattern is invalid, or if the search takes more than 5 s. */
export async function searchText(search: Search): Promise<Exclude<SearchAnswer, { thrown: string }>> {
  const running = new BoundedThread<Search, SearchAnswer>(thread);
  try {
    await running.ready;
    const answer = await running.ask(search);
    if ('thrown' in answer) throw new Error(answer.thrown);
    return answer;
  } finally {
    running.end(new Error('the search is over'));
  }
}
