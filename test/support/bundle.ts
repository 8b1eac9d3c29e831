import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowBundleOptions } from '../../src/workflow-bundle';

/** The workflow code as a worker gets it. Half a second of webpack: make it once, reuse it. */
export async function bundleWorkflows(): Promise<string> {
  const { code } = await bundleWorkflowCode({ ...workflowBundleOptions(), logger: new DefaultLogger('ERROR') });
  return code;
}
