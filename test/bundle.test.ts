import { readFileSync } from 'node:fs';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowBundleOptions } from '../src/workflow-bundle';
import { workflowBundlePath } from './support/temporal';

/** An empty workflow is 1.5 MB of Temporal's own code. What grows here is parsed again by every worker that starts. */
const maxBytes = 1_900_000;

/** Temporal's workflow runtime and what it needs itself. */
const allowed = ['@temporalio/common', '@temporalio/workflow', '@temporalio/worker', 'long', 'ms', 'nexus-rpc'];

/** Packages and folders of src that webpack put into a bundle, read from its inline source map. */
function contentsOf(bundle: string): { packages: string[]; zones: string[] } {
  const encoded = [...bundle.matchAll(/sourceMappingURL=data:application\/json;[^,]*base64,([A-Za-z0-9+/=]+)/g)].at(-1)?.[1];
  if (!encoded) throw new Error('the bundle has no inline source map, so nothing can be said of its contents');
  const { sources } = JSON.parse(Buffer.from(encoded, 'base64').toString()) as { sources: string[] };
  const found = (pattern: RegExp) => [...new Set(sources.flatMap((source) => pattern.exec(source)?.[1] ?? []))].sort();
  return { packages: found(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/), zones: found(/^(?!.*node_modules).*\/src\/([^/]+)\//) };
}

test('the workflow bundle holds only the pure zones and the packages of the workflow runtime', () => {
  const { packages, zones } = contentsOf(readFileSync(workflowBundlePath(), 'utf8'));
  expect(packages).toContain('@temporalio/workflow');
  expect(packages.filter((name) => !allowed.includes(name))).toEqual([]);
  expect(zones).toEqual(['contract', 'core', 'workflows']);
});

test('the workflow bundle is under 1.9 MB', () => {
  expect(Buffer.byteLength(readFileSync(workflowBundlePath()))).toBeLessThan(maxBytes);
});

test('bundling logs one line, and the warnings of webpack', async () => {
  const lines: string[] = [];
  const { webpackConfigHook, ...options } = workflowBundleOptions();
  await bundleWorkflowCode({
    ...options,
    logger: new DefaultLogger('INFO', ({ message }) => lines.push(message)),
    webpackConfigHook: (config) => {
      const ours = webpackConfigHook?.(config) ?? config;
      ours.plugins?.push((compiler) => {
        compiler.hooks.thisCompilation.tap('test', ({ warnings }) => void warnings.push(new Error('something is odd')));
      });
      return ours;
    },
  });
  expect(lines).toEqual([
    expect.stringMatching(/^WARNING in something is odd\n[\s\S]*compiled with 1 warning$/),
    'Workflow bundle created',
  ]);
});
