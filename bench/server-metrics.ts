import type { WorkflowClient } from '@temporalio/client';

/** How many requests a server has received in one namespace, by the name of the operation. */
export type RequestCounts = Record<string, number>;

/** An operation that only this module uses. */
const marker = 'GetClusterInfo';

/** The server publishes its counts about once a second, so this sends a marker request and waits until it is counted, too. */
export async function requestCounts(metricsUrl: string, { workflowService, options }: WorkflowClient): Promise<RequestCounts> {
  const { [marker]: before = 0 } = await read(metricsUrl, '_unknown_');
  await workflowService.getClusterInfo({});
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    const { [marker]: now = 0 } = await read(metricsUrl, '_unknown_');
    if (now > before) return read(metricsUrl, options.namespace);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the server at ${metricsUrl} publishes no counts`);
}

async function read(metricsUrl: string, namespace: string): Promise<RequestCounts> {
  const text = await (await fetch(metricsUrl)).text();
  const counts: RequestCounts = {};
  for (const [, labels = '', value] of text.matchAll(/^service_requests\{(.*)\} (\S+)$/gm)) {
    const operation = /operation="(\w+)"/.exec(labels)?.[1];
    if (operation && labels.includes('service_name="frontend"') && labels.includes(`namespace="${namespace}"`))
      counts[operation] = Number(value);
  }
  return counts;
}
