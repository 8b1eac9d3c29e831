import { join } from 'node:path';
import { BoundedThread } from '../defining/bounded-thread';
import { type Search, type SearchAnswer, threadName } from './search-thread.js';

const thread = { file: join(__dirname, 'search-thread.js'), name: threadName, what: 'the search', ms: 5_000, mb: 256 };

type Found = Exclude<SearchAnswer, { thrown: string }>;

export interface TextSearch {
  /** Searches a text. Rejects if the pattern is invalid, or if the search takes more than 5 s. */
  search(search: Search): Promise<Found>;
  end(): void;
}

/** Starts a thread for searches, which one of them can't hold up others for longer than that. */
export async function openTextSearch(): Promise<TextSearch> {
  const running = new BoundedThread<Search, SearchAnswer>(thread);
  await running.ready;
  return {
    async search(search) {
      const answer = await running.ask(search);
      if ('thrown' in answer) throw new Error(answer.thrown);
      return answer;
    },
    end: () => running.end(new Error('the search is over')),
  };
}

/** Searches a text in a thread of its own. Rejects if the pattern is invalid, or if the search takes more than 5 s. */
export async function searchText(search: Search): Promise<Found> {
  const running = await openTextSearch();
  try {
    return await running.search(search);
  } finally {
    running.end();
  }
}
