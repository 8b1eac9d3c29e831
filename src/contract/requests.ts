import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { PendingCall } from '../core/event';
import type { CancelRequest, DecisionRequest, SendRequest, SubmitRequest } from '../core/requests';
import type { EventsPage, EventsRequest, MessagesPage, StatusView, TranscriptPage, TranscriptRequest, UsageView } from './thread';

/** What an accepted update answers: the newest event's number when it was accepted. */
export interface Receipt {
  accepted: true;
  seq: number;
}

// One name is both: the signal for whoever can only fire and forget, the update for whoever wants to know.
export const signals = {
  cancel: defineSignal<[CancelRequest?]>('cancel'),
  sendMessage: defineSignal<[SendRequest]>('sendMessage'),
  submitToolOutputs: defineSignal<[SubmitRequest]>('submitToolOutputs'),
  approve: defineSignal<[DecisionRequest]>('approve'),
  close: defineSignal('close'),
};

export const updates = {
  cancel: defineUpdate<Receipt, [CancelRequest?]>('cancel'),
  sendMessage: defineUpdate<Receipt, [SendRequest]>('sendMessage'),
  submitToolOutputs: defineUpdate<Receipt, [SubmitRequest]>('submitToolOutputs'),
  approve: defineUpdate<Receipt, [DecisionRequest]>('approve'),
  close: defineUpdate<Receipt>('close'),
};

export const queries = {
  events: defineQuery<EventsPage, [EventsRequest?]>('events'),
  status: defineQuery<StatusView>('status'),
  messages: defineQuery<MessagesPage, [{ from?: number }?]>('messages'),
  pending: defineQuery<PendingCall[]>('pending'),
  usage: defineQuery<UsageView>('usage'),
  /** For the engine's own activities. */
  transcript: defineQuery<TranscriptPage, [TranscriptRequest]>('transcript'),
};

export type RequestName = keyof typeof signals;
