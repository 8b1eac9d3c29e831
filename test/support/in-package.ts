import { join } from 'node:path';

/** The path of a file in the package that the global setup compiled, such as `dist/worker.js` or `agents/killable.js`. */
export function inPackage(path: string): string {
  const { LONGHAUL_TEST_PACKAGE: folder, LONGHAUL_TEST_PACKAGE_ERROR: error } = process.env;
  if (!folder) throw new Error(error ?? 'The global setup has not compiled the package.');
  return join(folder, path);
}
