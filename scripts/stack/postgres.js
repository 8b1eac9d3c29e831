// @ts-check
'use strict';

// A PostgreSQL cluster in a temporary folder.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { guarded } = require('../guarded');
const { until } = require('./until');

/** The folder with PostgreSQL's server programs. Debian keeps them in a folder per version, which is not on the PATH. */
function findPostgres() {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const debian = '/usr/lib/postgresql';
  if (fs.existsSync(debian)) {
    const versions = fs.readdirSync(debian).sort((a, b) => Number(b) - Number(a));
    folders.push(...versions.map((version) => path.join(debian, version, 'bin')));
  }
  const found = folders.find((folder) => fs.existsSync(path.join(folder, 'initdb')) && fs.existsSync(path.join(folder, 'postgres')));
  if (found) return found;
  throw new Error(
    'PostgreSQL is not installed: there is no initdb on the PATH or in /usr/lib/postgresql. On Debian: apt-get install postgresql',
  );
}

/** PostgreSQL refuses to run as root. @returns {{ uid: number, gid: number } | undefined} */
function unprivileged() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const line = fs
      .readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((entry) => entry.startsWith(`${name}:`));
    if (line) return { uid: Number(line.split(':')[2]), gid: Number(line.split(':')[3]) };
  }
  throw new Error('PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as. Create one of them.');
}

/**
 * `start` resolves when it accepts connections; `crash` is the immediate shutdown, after which the next start recovers from the log.
 * @param {string} folder an existing folder @param {number} port @param {string} password
 */
function postgresCluster(folder, port, password) {
  const bin = findPostgres();
  const user = unprivileged();
  const data = path.join(folder, 'data');
  /** @type {import('../guarded').Guarded | undefined} */
  let running;
  if (user) fs.chownSync(folder, user.uid, user.gid);

  /** @param {string} program @param {string[]} args @returns {[string, string[]]} */
  const as = (program, args) => {
    const command = path.join(bin, program);
    return user ? ['setpriv', [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', command, ...args]] : [command, args];
  };

  /** @param {NodeJS.Signals} signal */
  const end = async (signal) => {
    if (!running) return;
    process.kill(await running.pid, signal);
    await running.ended;
    running = undefined;
  };

  return {
    version: execFileSync(path.join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }).trim(),

    create() {
      const passwordFile = path.join(folder, 'password');
      fs.writeFileSync(passwordFile, password, { mode: 0o644 });
      const [command, args] = as('initdb', [
        '-D',
        data,
        '-U',
        'temporal',
        '--auth=scram-sha-256',
        `--pwfile=${passwordFile}`,
        '-E',
        'UTF8',
        '--locale=C',
      ]);
      execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder });
    },

    async start() {
      let ready = false;
      const [command, args] = as('postgres', ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1']);
      const cluster = guarded(command, args, {
        onLine: (line) => {
          if (line.includes('ready to accept connections')) ready = true;
        },
      });
      running = cluster;
      await until('PostgreSQL accepts connections', () => ready, 30_000, cluster);
    },

    stop: () => end('SIGINT'),
    crash: () => end('SIGQUIT'),
  };
}

module.exports = { findPostgres, postgresCluster };
