import type { Client, WorkflowExecutionStatusName } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { LonghaulClient } from '../client';
import { decodePayload } from './decode';
import { persist } from './persist';

type RawExecution = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>['executions'][number];

/** A thread in the index. Don't trust its memo and search attributes: anyone who may start a workflow can choose them. */
export interface ListedThread {
  workflowId: string;
  runId: string;
  taskQueue: string;
  status: WorkflowExecutionStatusName;
  startTime: Date;
  closeTime?: Date;
  /** A value of the memo, which the starter wrote. Undefined if it can't be read. */
  memo(name: string): Promise<unknown>;
  /** The values of a search attribute. */
  attribute(name: string): unknown[];
}

/**
 * Lists executions page by page, newest first. The list of Temporal's SDK decodes each memo completely and stops at the first that can't be decoded,
 * so one such workflow would hide all others.
 */
export async function* executions(
  { temporal, options }: LonghaulClient,
  { what, query, pageSize }: { what: string; query: string; pageSize: number },
): AsyncGenerator<RawExecution, void> {
  const { namespace } = temporal.options;
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const read = () => temporal.workflowService.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken });
    const page = await persist(temporal.connection, what, read, { awayMs: options.serverAwayMs });
    yield* page.executions;
    nextPageToken = page.nextPageToken ?? new Uint8Array();
  } while (nextPageToken.length > 0);
}

export function listedThread(client: Client, raw: RawExecution): ListedThread {
  return {
    workflowId: raw.execution?.workflowId ?? '',
    runId: raw.execution?.runId ?? '',
    taskQueue: raw.taskQueue ?? '',
    status: statusNames[raw.status ?? 0] ?? 'UNKNOWN',
    startTime: dateOf(raw.startTime),
    ...(raw.closeTime && { closeTime: dateOf(raw.closeTime) }),
    memo: (name) => decodePayload(client, raw.memo?.fields?.[name]),
    attribute(name) {
      const payload = raw.searchAttributes?.indexedFields?.[name];
      const value: unknown = payload && defaultPayloadConverter.fromPayload(payload);
      return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
    },
  };
}

/** Status names, indexed by the server's enum values. */
const statusNames: readonly WorkflowExecutionStatusName[] = [
  'UNSPECIFIED',
  'RUNNING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
  'PAUSED',
];

function dateOf(time: RawExecution['startTime']): Date {
  return new Date(Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000);
}
