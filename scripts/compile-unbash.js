// @ts-check
'use strict';

// Part of `npm run build`: puts unbash, the only dependency that is an ES module alone, into the package as CommonJS. Without this, a test that runs
// in jest could not load Longhaul on Node versions before 24.9: jest can't require an ES module there.

const { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { transformFileSync } = require('@swc/core');

/** @param {string} dist The folder with the compiled package. */
function compileUnbash(dist) {
  const source = path.dirname(require.resolve('unbash'));
  const target = path.join(dist, 'vendor/unbash');
  mkdirSync(target, { recursive: true });
  for (const file of readdirSync(source)) {
    if (!file.endsWith('.js')) continue;
    const options = /** @type {const} */ ({ swcrc: false, configFile: false, jsc: { target: 'es2022' }, module: { type: 'commonjs' } });
    writeFileSync(path.join(target, file), transformFileSync(path.join(source, file), options).code);
  }
  copyFileSync(path.join(source, '../LICENSE'), path.join(target, 'LICENSE'));

  const user = path.join(dist, 'tools/permissions/shell-command.js');
  const code = readFileSync(user, 'utf8');
  const compiled = code.replace('require("unbash")', 'require("../../vendor/unbash/parser.js")');
  if (compiled === code) throw new Error(`${user} does not require unbash as expected`);
  writeFileSync(user, compiled);
}

compileUnbash(path.resolve(process.argv[2] ?? path.join(__dirname, '../dist')));
