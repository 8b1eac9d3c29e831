// A webpack loader: the workflow code of another version. `change` stands at the beginning of the thread's loop.
module.exports = function changed(source) {
  const { change } = this.getOptions();
  const loop = '  handleRequests(thread);\n';
  if (!source.includes(loop))
    throw new Error('src/workflows/agent-thread.ts has changed: there is no handleRequests(thread) to change it at');
  return `import { patched as isPatched, sleep as pause } from '@temporalio/workflow';\n${source.replace(loop, `${loop}  ${change}\n`)}`;
};
