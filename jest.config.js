// Tests compare output without colours. Without this setting, output has colours if CI is set.
process.env.NO_COLOR = '1';

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // These take minutes: `npm run test:long` and `npm run test:kills` run them.
  testPathIgnorePatterns: ['\\.long\\.test\\.ts$', '<rootDir>/test/kills/'],
  // dist may contain a whole copy of the project, and .longhaul temporary packages.
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.longhaul/'],
  transform: {
    '^.+\\.[tj]s$': [
      '@swc/jest',
      { sourceMaps: 'inline', jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  // unbash is an ES module, which jest can't require from CommonJS on every supported Node version.
  transformIgnorePatterns: ['/node_modules/(?!unbash/)'],
  // Examples import the package by its name, as a user would.
  moduleNameMapper: { '^longhaul$': '<rootDir>/src/index.ts', '^longhaul/(.*)$': ['<rootDir>/src/$1.ts', '<rootDir>/src/$1/index.ts'] },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Each test file may run a worker, a bundler and a server; on two cores, more parallel files only make all of them slow.
  maxWorkers: 4,
  // Longer than the waits for conditions in a test, so that a test on a busy machine is slow instead of failing.
  testTimeout: 180_000,
};
