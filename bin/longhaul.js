#!/usr/bin/env node
'use strict';

// In a checkout the sources run as they are, without a build; an installed package has only dist.

const fs = require('node:fs');
const path = require('node:path');
const { version } = require('../package.json');

const source = path.join(__dirname, '../src/cli/main.ts');
if (fs.existsSync(source)) {
  // Otherwise tsx reads the tsconfig.json of the current folder, whoever wrote that, and takes modules from where it says. It reads this once.
  const { TSX_TSCONFIG_PATH: given } = process.env;
  process.env.TSX_TSCONFIG_PATH = given ?? path.join(__dirname, '../tsconfig.json');
  require('tsx/cjs');
  if (given === undefined) delete process.env.TSX_TSCONFIG_PATH;
  require(source).main(process.argv, version);
} else {
  require('../dist/cli/main.js').main(process.argv, version);
}
