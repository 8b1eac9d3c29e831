import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { PendingCall } from '../core/event';
import type { CancelRequest, CloseRequest, DecisionRequest, PauseRequest, SendRequest, SubmitRequest } from '../core/requests';
import type { MessageReceipt } from '../core/state';
import type { EventsPage, EventsRequest, MessagesPage, StatusView, TranscriptPage, TranscriptRequest, UsageView } from './thread';

/** What an accepted update answers: the newest event's number when it was accepted. */
export interface Receipt {
  accepted: true;
  seq: number;
  /** Of a message: its id, by which the query `receipt` tells what became of it. */
  id?: string;
  /** What of it did not succeed: an approval stands, and what it was to have remembered could not be kept. */
  warning?: string;
}

// One name is both: the signal for whoever can only fire and forget, the update for whoever wants to know.
export const signals = {
  cancel: defineSignal<[CancelRequest?]>('cancel'),
  sendMessage: defineSignal<[SendRequest]>('sendMessage'),
  submitToolOutputs: defineSignal<[SubmitRequest]>('submitToolOutputs'),
  approve: defineSignal<[DecisionRequest]>('approve'),
  pause: defineSignal<[PauseRequest?]>('pause'),
  resume: defineSignal<[PauseRequest?]>('resume'),
  compact: defineSignal<[PauseRequest?]>('compact'),
  close: defineSignal<[CloseRequest?]>('close'),
};

export const updates = {
  cancel: defineUpdate<Receipt, [CancelRequest?]>('cancel'),
  sendMessage: defineUpdate<Receipt, [SendRequest]>('sendMessage'),
  submitToolOutputs: defineUpdate<Receipt, [SubmitRequest]>('submitToolOutputs'),
  approve: defineUpdate<Receipt, [DecisionRequest]>('approve'),
  pause: defineUpdate<Receipt, [PauseRequest?]>('pause'),
  resume: defineUpdate<Receipt, [PauseRequest?]>('resume'),
  compact: defineUpdate<Receipt, [PauseRequest?]>('compact'),
  close: defineUpdate<Receipt, [CloseRequest?]>('close'),
};

export const queries = {
  events: defineQuery<EventsPage, [EventsRequest?]>('events'),
  status: defineQuery<StatusView>('status'),
  messages: defineQuery<MessagesPage, [{ from?: number }?]>('messages'),
  pending: defineQuery<PendingCall[]>('pending'),
  usage: defineQuery<UsageView>('usage'),
  /** What became of a message, by its id. Null where none of this id came, or too many since. */
  receipt: defineQuery<MessageReceipt | null, [{ id: string }]>('receipt'),
  /** For the engine's own activities. */
  transcript: defineQuery<TranscriptPage, [TranscriptRequest]>('transcript'),
};

export type RequestName = keyof typeof signals;
