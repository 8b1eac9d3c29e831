import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

const src = join(__dirname, '../../src');

/** The workflow code as a worker gets it. Half a second of webpack: make it once, reuse it. */
export async function bundleWorkflows(): Promise<string> {
  const payloadConverterPath = join(src, 'contract/payload-converter.ts');
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(src, 'workflows/index.ts'),
    ...(existsSync(payloadConverterPath) && { payloadConverterPath }),
    logger: new DefaultLogger('ERROR'),
  });
  return code;
}
