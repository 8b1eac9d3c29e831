// @ts-check
'use strict';

// Creates a temporary folder with the content of the image's /app: the build, and only the production dependencies. A worker that runs from it
// proves that the image has everything it needs.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { root } = require('./compose');

/** @returns {{ folder: string, command: string[] }} `command` is the image's CMD */
function imageFolder() {
  // Inside the project, because hard links need the same file system.
  const parent = path.join(root, '.longhaul');
  fs.mkdirSync(parent, { recursive: true });
  const folder = fs.mkdtempSync(path.join(parent, 'image-'));
  try {
    return { folder, command: fill(folder) };
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** @param {string} folder @returns {string[]} */
function fill(folder) {
  const dockerfile = fs.readFileSync(path.join(root, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  build(path.join(folder, 'dist'));
  linkProductionModules(folder);
  fs.copyFileSync(path.join(root, 'package.json'), path.join(folder, 'package.json'));
  fs.mkdirSync(path.join(folder, 'deploy'));
  fs.copyFileSync(path.join(root, 'deploy', 'worker-health.js'), path.join(folder, 'deploy', 'worker-health.js'));
  const [, prune = ''] = /RUN node -e "([^"]*)"/.exec(dockerfile) ?? [];
  if (process.platform === 'linux') execFileSync(process.execPath, ['-e', prune], { cwd: folder });
  const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  return JSON.parse(command);
}

/** @param {string} outDir */
function build(outDir) {
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  const { status, stdout } = spawnSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', outDir], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The build failed; \`npm run build\` would fail, too:\n${stdout}`);
}

/** Hard-links the production packages, so that Node finds only those. @param {string} folder */
function linkProductionModules(folder) {
  const list = spawnSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { cwd: root, encoding: 'utf8' });
  const modules = path.join(root, 'node_modules');
  const packages = [...new Set(list.stdout.split('\n').filter((line) => line.startsWith(`${modules}${path.sep}`)))];
  // A nested package is linked together with the outer one.
  const outer = packages.filter((name) => !packages.some((other) => name.startsWith(`${other}${path.sep}`)));
  if (outer.length === 0) throw new Error(`npm ls lists no installed package; run \`npm ci\` first\n${list.stderr}`);
  for (const from of outer) linkTree(from, path.join(folder, path.relative(root, from)));
}

/** @param {string} from @param {string} to */
function linkTree(from, to) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, target);
    else if (entry.isFile()) linkOrCopy(source, target);
  }
}

/** @param {string} source @param {string} target */
function linkOrCopy(source, target) {
  try {
    fs.linkSync(source, target);
  } catch {
    // The dependencies are on another file system.
    fs.copyFileSync(source, target);
  }
}

module.exports = { imageFolder };
