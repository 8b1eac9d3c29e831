import { join } from 'node:path';
import type { BundleOptions } from '@temporalio/worker';

type WebpackHook = NonNullable<BundleOptions['webpackConfigHook']>;

/**
 * Temporal's default compiles TypeScript for 2017, which replaces every spread by a page of code in every file; the isolate is this
 * Node's own, so nothing needs replacing. And a source map of lines, without columns and
 * without the sources themselves, is a tenth of the size, in every worker's memory; stacks still name file and line.
 */
const lean: WebpackHook = (config) => {
  for (const rule of config.module?.rules ?? []) {
    if (typeof rule !== 'object' || rule === null || typeof rule.use !== 'object' || Array.isArray(rule.use) || rule.use === null) continue;
    const { options } = rule.use as { options?: { jsc?: { target?: string } } };
    if (options?.jsc) options.jsc.target = 'es2022';
  }
  config.devtool = 'inline-nosources-cheap-module-source-map';
  return config;
};

/** For `bundleWorkflowCode`, to make the bundle ahead of time. */
export function workflowBundleOptions(): Pick<
  BundleOptions,
  'workflowsPath' | 'preloadModules' | 'payloadConverterPath' | 'webpackConfigHook'
> {
  const workflowsPath = sibling('workflows/index');
  // Evaluated once and shared by all threads of a worker, instead of anew for each: no module of ours keeps state.
  return { workflowsPath, preloadModules: [workflowsPath], payloadConverterPath: payloadConverterPath(), webpackConfigHook: lean };
}

export function payloadConverterPath(): string {
  return sibling('workflows/payload-converter');
}

/** A file beside this one, in the sources or in the build. */
function sibling(name: string): string {
  return join(__dirname, `${name}${__filename.endsWith('.ts') ? '.ts' : '.js'}`);
}
