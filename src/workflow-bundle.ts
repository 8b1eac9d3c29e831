import { join } from 'node:path';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';

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

export interface WorkflowBundleSettings {
  /** Workflow code has stack traces: in its errors, and in the Web UI's call stack. They cost CPU, so by default it has none. */
  stackTraces?: boolean;
}

/** For `bundleWorkflowCode`, to make the bundle ahead of time. */
export function workflowBundleOptions({
  stackTraces = false,
}: WorkflowBundleSettings = {}): Pick<
  BundleOptions,
  'workflowsPath' | 'workflowInterceptorModules' | 'preloadModules' | 'payloadConverterPath' | 'failureConverterPath' | 'webpackConfigHook'
> {
  const workflowsPath = sibling('workflows/index');
  const workflowInterceptorModules = [sibling('workflows/interceptors')];
  // Evaluated once and shared by all threads of a worker, instead of anew for each: no module of ours keeps state.
  const preloadModules = [...(stackTraces ? [] : [sibling('workflows/without-stack-traces')]), workflowsPath];
  return { workflowsPath, workflowInterceptorModules, preloadModules, ...converterPaths(), webpackConfigHook: lean };
}

/** Of a worker, and of one that replays: what a thread sees of its history must not differ between the two. `own` is the user's. */
export function dataConverter(own: NonNullable<WorkerOptions['dataConverter']> = {}): NonNullable<WorkerOptions['dataConverter']> {
  const { failureConverterPath, payloadConverterPath } = converterPaths();
  return { failureConverterPath, ...own, payloadConverterPath };
}

function converterPaths(): { payloadConverterPath: string; failureConverterPath: string } {
  return { payloadConverterPath: sibling('workflows/payload-converter'), failureConverterPath: sibling('workflows/failure-converter') };
}

/** A file beside this one, in the sources or in the build. */
function sibling(name: string): string {
  return join(__dirname, `${name}${__filename.endsWith('.ts') ? '.ts' : '.js'}`);
}
