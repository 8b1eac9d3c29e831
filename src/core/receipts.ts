import type { MessageReceipt, ThreadState } from './state';

/** Number of the newest messages whose receipts are kept. */
const kept = 200;

export function noteReceipt(state: ThreadState, receipt: MessageReceipt): void {
  const others = state.receipts.filter(({ id }) => id !== receipt.id);
  state.receipts = [...others.slice(1 - kept), receipt];
}

/** Returns a message's receipt, or undefined if there was no such message, or too many newer ones. */
export function receiptOf(state: ThreadState, id: string): MessageReceipt | undefined {
  return state.receipts.find((receipt) => receipt.id === id);
}
