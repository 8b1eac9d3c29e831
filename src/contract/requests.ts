import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ContextView } from '../core/context/view';
import type { PendingCall } from '../core/event';
import type {
  AnswerRequest,
  CancelRequest,
  CloseRequest,
  DecisionRequest,
  PauseRequest,
  SendRequest,
  SettleRequest,
  SubmitRequest,
} from '../core/requests';
import type { MessageReceipt } from '../core/state';
import type {
  ClosedThread,
  EventsPage,
  EventsRequest,
  MessagesPage,
  StatusView,
  TranscriptPage,
  TranscriptRequest,
  UsageView,
} from './thread';

/** The answer to an accepted update. */
export interface Receipt {
  accepted: true;
  /** The `seq` of the event that the request caused, or of the newest event. */
  seq: number;
  /** For a message: its id, for the query `receipt`. */
  id?: string;
  /** Which part of the request did not succeed: the call is approved, but the rule to remember could not be stored. */
  warning?: string;
}

// Each name is both a signal, for clients that can only send, and an update, for clients that need an answer.
export const signals = {
  cancel: defineSignal<[CancelRequest?]>('cancel'),
  sendMessage: defineSignal<[SendRequest]>('sendMessage'),
  submitToolOutputs: defineSignal<[SubmitRequest]>('submitToolOutputs'),
  approve: defineSignal<[DecisionRequest]>('approve'),
  answerQuestion: defineSignal<[AnswerRequest]>('answerQuestion'),
  settle: defineSignal<[SettleRequest]>('settle'),
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
  answerQuestion: defineUpdate<Receipt, [AnswerRequest]>('answerQuestion'),
  settle: defineUpdate<Receipt, [SettleRequest]>('settle'),
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
  context: defineQuery<ContextView>('context'),
  /** A message's receipt, by its id. Null if there was no such message, or too many newer ones. */
  receipt: defineQuery<MessageReceipt | null, [{ id: string }]>('receipt'),
  /** For the engine's own activities. */
  transcript: defineQuery<TranscriptPage, [TranscriptRequest]>('transcript'),
  /** For the engine's own activities: what a closed conversation passes on. */
  closed: defineQuery<ClosedThread>('closed'),
};

export type RequestName = keyof typeof signals;
