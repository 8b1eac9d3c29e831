import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { version } from '@temporalio/worker/package.json';
import { encodeFailures } from './contract/encode-failures';
import type { Encoding } from './encoding/encoding';

type WebpackHook = NonNullable<BundleOptions['webpackConfigHook']>;
type Plugin = Extract<NonNullable<Parameters<WebpackHook>[0]['plugins']>[number], (compiler: never) => void>;
type Compiler = Parameters<Plugin>[0];

/**
 * By default Temporal compiles TypeScript to ES2017, which replaces every spread with a large helper in every file. The isolate is that of the running
 * Node, so this is not needed. A source map of lines, without columns and without the sources themselves, takes a tenth of the memory in every worker,
 * and stacks still name file and line.
 */
const lean: WebpackHook = (config) => {
  for (const rule of config.module?.rules ?? []) {
    if (typeof rule !== 'object' || rule === null || typeof rule.use !== 'object' || Array.isArray(rule.use) || rule.use === null) continue;
    const { options } = rule.use as { options?: { jsc?: { target?: string } } };
    if (options?.jsc) options.jsc.target = 'es2022';
  }
  config.devtool = 'inline-nosources-cheap-module-source-map';
  // By default webpack looks for absolute paths, and for settings, below the current folder first. A worker may be started in any folder, so the
  // folder's author could replace the engine's own code.
  config.context = __dirname;
  config.resolve = { ...config.resolve, roots: [] };
  (config.plugins ??= []).push(brief);
  return config;
};

/** Shortens webpack's report to its warnings and errors. Temporal's SDK would log the whole list of modules at each start of a worker. */
function brief(compiler: Compiler): void {
  compiler.hooks.done.tap('longhaul', (stats) => {
    const told = stats.toString.bind(stats);
    stats.toString = (options) => told({ ...(typeof options === 'object' && options), preset: 'errors-warnings' });
  });
}

export interface WorkflowBundleSettings {
  /** Whether workflow code has stack traces, in its errors and in the Web UI's call stack. They cost CPU. Default false. */
  stackTraces?: boolean | undefined;
}

/**
 * The bundle that is part of the built package, which saves a worker seconds of CPU at each start. Undefined in a checkout, and if the installed
 * version of Temporal's SDK is not the one that the package was built with.
 */
export function packagedBundle(settings: WorkflowBundleSettings = {}): { codePath: string } | undefined {
  const codePath = packagedBundlePath(settings);
  return existsSync(codePath) ? { codePath } : undefined;
}

/** The path at which the package's build writes the bundle. */
export function packagedBundlePath({ stackTraces = false }: WorkflowBundleSettings = {}): string {
  return join(__dirname, `workflows/bundle-${version}${stackTraces ? '-stack-traces' : ''}.js`);
}

/** Options for Temporal's `bundleWorkflowCode`, to build the bundle ahead of time. */
export function workflowBundleOptions({
  stackTraces = false,
}: WorkflowBundleSettings = {}): Pick<
  BundleOptions,
  'workflowsPath' | 'workflowInterceptorModules' | 'preloadModules' | 'payloadConverterPath' | 'failureConverterPath' | 'webpackConfigHook'
> {
  const workflowsPath = sibling('workflows/index');
  const workflowInterceptorModules = [sibling('workflows/interceptors')];
  // Evaluated once and shared by all threads of a worker, instead of once for each thread. This is safe because no module of ours keeps state.
  const preloadModules = [...(stackTraces ? [] : [sibling('workflows/without-stack-traces')]), workflowsPath];
  return { workflowsPath, workflowInterceptorModules, preloadModules, ...converterPaths(), webpackConfigHook: lean };
}

/**
 * The data converter of workers and of replays, in which a thread must read the same history. `own` is the user's converter; its codecs are applied
 * after those of the encoding.
 */
export function dataConverter(
  { codecs, encrypts }: Encoding,
  own: NonNullable<WorkerOptions['dataConverter']> = {},
): NonNullable<WorkerOptions['dataConverter']> {
  const { failureConverterPath, payloadConverterPath } = converterPaths();
  return {
    failureConverterPath: encrypts ? sibling('workflows/encoding-failure-converter') : failureConverterPath,
    ...own,
    payloadCodecs: [...codecs, ...(own.payloadCodecs ?? [])],
    payloadConverterPath,
  };
}

/** The same bundle for a worker that encrypts payloads: its workflow code encodes the texts of failures. */
export async function withEncodedFailures(bundle: { codePath: string } | { code: string }): Promise<{ code: string }> {
  const code = 'code' in bundle ? bundle.code : await readFile(bundle.codePath, 'utf8');
  // On the first line, so that the source map still applies.
  return { code: `globalThis.${encodeFailures} = true; ${code}` };
}

/** Identifies the workflow code. The history of a turn names it six times, so it is short: the SDK's own id has 90 characters. */
export async function buildIdOf(bundle: { codePath: string } | { code: string }): Promise<string> {
  const code = 'code' in bundle ? bundle.code : await readFile(bundle.codePath);
  return `longhaul+${createHash('sha256').update(code).digest('hex').slice(0, 16)}`;
}

function converterPaths(): { payloadConverterPath: string; failureConverterPath: string } {
  return { payloadConverterPath: sibling('workflows/payload-converter'), failureConverterPath: sibling('workflows/failure-converter') };
}

/** A file beside this one, in the sources or in the build. */
function sibling(name: string): string {
  return join(__dirname, `${name}${__filename.endsWith('.ts') ? '.ts' : '.js'}`);
}
