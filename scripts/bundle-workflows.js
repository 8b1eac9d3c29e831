// @ts-check
'use strict';

// Part of `npm run build`: bundles the compiled workflow code, so that workers need not do it when they start.

const { writeFileSync } = require('node:fs');
const path = require('node:path');

/** @param {string} dist The folder with the compiled package. */
async function bundleWorkflows(dist) {
  const { bundleWorkflowCode, DefaultLogger } = require('@temporalio/worker');
  const { packagedBundlePath, workflowBundleOptions } = require(path.join(dist, 'workflow-bundle.js'));
  for (const stackTraces of [false, true]) {
    const options = workflowBundleOptions({ stackTraces });
    const { code } = await bundleWorkflowCode({
      ...options,
      webpackConfigHook: (config) => {
        const ours = options.webpackConfigHook?.(config) ?? config;
        // Relative paths, so that the source map does not contain paths of this machine.
        /** @param {{ absoluteResourcePath: string }} module */
        const sourceName = (module) => path.relative(path.dirname(dist), module.absoluteResourcePath);
        return { ...ours, output: { ...ours.output, devtoolModuleFilenameTemplate: sourceName } };
      },
      logger: new DefaultLogger('WARN'),
    });
    writeFileSync(packagedBundlePath({ stackTraces }), code);
  }
}

bundleWorkflows(path.resolve(process.argv[2] ?? path.join(__dirname, '../dist'))).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
