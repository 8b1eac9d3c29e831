// A webpack loader that creates the workflow code of another version: it inserts `change` at the beginning of the thread's loop.
module.exports = function changed(source) {
  const { change } = this.getOptions();
  const loop = '  handleRequests(thread);\n';
  if (!source.includes(loop))
    throw new Error(
      'src/workflows/agent-thread.ts no longer contains handleRequests(thread), where this loader inserts its change; update the loader',
    );
  return `import { patched as isPatched, sleep as pause } from '@temporalio/workflow';\n${source.replace(loop, `${loop}  ${change}\n`)}`;
};
