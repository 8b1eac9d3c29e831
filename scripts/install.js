// @ts-check
'use strict';

// Installs the dependencies if they are missing or do not match the lock file, so that one command is enough on a fresh clone.

const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const root = path.join(__dirname, '..');

/** @param {{ log?: (line: string) => void }} [options] */
function installDependencies({ log = console.error } = {}) {
  if (isCurrent()) return;
  log('installing dependencies (npm ci) …');
  const { status, error } = spawnSync('npm', ['ci', '--no-fund', '--no-audit'], {
    cwd: root,
    // npm's output goes to standard error, because standard output belongs to the caller.
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  });
  if (status !== 0)
    throw new Error(
      `npm ci failed (${error?.message ?? `exit code ${status}`}). Its output above has the reason. Fix it and run the command again.`,
    );
}

/**
 * npm writes its own copy of the lock file last, so everything in that copy is completely installed. Compares versions, not modification times,
 * because a checkout updates the lock file's time without changing its content. Ignores optional packages; most are for other platforms.
 */
function isCurrent() {
  try {
    const wanted = packagesOf(path.join(root, 'package-lock.json'));
    const installed = packagesOf(path.join(root, 'node_modules', '.package-lock.json'));
    return Object.entries(wanted).every(([name, { version, optional }]) => name === '' || optional || installed[name]?.version === version);
  } catch {
    return false;
  }
}

/** @param {string} file @returns {Record<string, { version: string, optional?: boolean }>} */
function packagesOf(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8')).packages;
}

module.exports = { installDependencies };

if (require.main === module) installDependencies();
