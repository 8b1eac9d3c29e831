import type { MessageReceipt, ThreadState } from './state';

/** Of so many of the newest messages it can be told what became of them. */
const kept = 200;

export function noteReceipt(state: ThreadState, receipt: MessageReceipt): void {
  const others = state.receipts.filter(({ id }) => id !== receipt.id);
  state.receipts = [...others.slice(1 - kept), receipt];
}

/** What became of a message, or undefined where none of this id came, or too many since. */
export function receiptOf(state: ThreadState, id: string): MessageReceipt | undefined {
  return state.receipts.find((receipt) => receipt.id === id);
}
