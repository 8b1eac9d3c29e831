#!/usr/bin/env node
'use strict';

// In a checkout the sources run as they are, without a build; an installed package has only dist.

const fs = require('node:fs');
const path = require('node:path');
const { version } = require('../package.json');

const source = path.join(__dirname, '../src/cli/main.ts');
if (fs.existsSync(source)) {
  require('tsx/cjs');
  require(source).main(process.argv, version);
} else {
  require('../dist/cli/main.js').main(process.argv, version);
}
