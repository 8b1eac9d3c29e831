// @ts-check
'use strict';

// Builds the Temporal server and its schema tool, in the version of docker-compose.yml, from their Go module into the user's cache.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { guarded } = require('../guarded');

const module_ = 'go.temporal.io/server';
// Go names a program after its folder; these are the names in the images.
const programs = { 'temporal-server': 'cmd/server', 'temporal-sql-tool': 'cmd/tools/sql' };

/** @param {string} version */
function folderOf(version) {
  const named = process.env.XDG_CACHE_HOME ?? '';
  // Ignore a relative path, which would be controlled by the author of the current folder.
  const cache = path.isAbsolute(named) ? named : path.join(os.homedir(), '.cache');
  return path.join(cache, 'longhaul', `temporal-server-v${version}`);
}

/**
 * The folder with `temporal-server` and `temporal-sql-tool`. If two processes build concurrently, both succeed, and one of the results stays.
 * @param {string} version without a v @param {(line: string) => void} log @returns {Promise<string>}
 */
async function serverBinaries(version, log) {
  const folder = folderOf(version);
  if (isComplete(folder)) return folder;
  if (spawnSync('go', ['version']).error) {
    throw new Error(`Go is not on the PATH. The native stack builds Temporal server ${version} with it, once: https://go.dev/doc/install`);
  }
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  const building = fs.mkdtempSync(`${folder}-`);
  try {
    log(`building Temporal server ${version} from its Go module, once: 3 to 6 minutes on two cores (kept in ${folder})`);
    for (const [name, from] of Object.entries(programs)) {
      const built = await goInstall(`${module_}/${from}@v${version}`, building, log);
      fs.renameSync(built, path.join(building, name));
    }
    fs.chmodSync(building, 0o755);
    fs.rmSync(folder, { recursive: true, force: true });
    fs.renameSync(building, folder);
  } catch (error) {
    if (!isComplete(folder)) throw error;
  } finally {
    fs.rmSync(building, { recursive: true, force: true });
  }
  return folder;
}

/** @param {string} folder */
function isComplete(folder) {
  return Object.keys(programs).every((name) => fs.existsSync(path.join(folder, name)));
}

/** @param {string} what @param {string} folder @param {(line: string) => void} log */
async function goInstall(what, folder, log) {
  const started = Date.now();
  let packages = 0;
  const job = guarded('go', ['install', '-v', what], {
    env: { ...process.env, GOBIN: folder },
    onLine: (line) => {
      if (!line.startsWith('go: ')) packages++;
    },
  });
  const ticker = setInterval(() => log(`  … ${Math.round((Date.now() - started) / 1_000)} s, ${packages} packages compiled`), 15_000);
  const { code, output } = await job.ended;
  clearInterval(ticker);
  if (code !== 0) throw new Error(`go install ${what} failed:\n${output.trim().split('\n').slice(-8).join('\n')}`);
  return path.join(folder, path.basename(what.split('@')[0] ?? ''));
}

module.exports = { serverBinaries };
