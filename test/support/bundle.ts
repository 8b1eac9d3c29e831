import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowBundleOptions } from '../../src/workflow-bundle';

/** The workflow bundle of a worker. Bundling takes half a second, so build it once and reuse it. */
export async function bundleWorkflows(): Promise<string> {
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions(), logger: new DefaultLogger('ERROR') });
  return code;
}
