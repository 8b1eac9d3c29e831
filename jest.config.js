// What is printed is compared without colours, also where CI is set, which is taken for a terminal that has them.
process.env.NO_COLOR = '1';

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // Minutes long: `npm run test:kills`.
  testPathIgnorePatterns: ['<rootDir>/test/kills/'],
  // A whole copy of the project may lie in dist, and temporary packages beside it.
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.longhaul/'],
  transform: {
    '^.+\\.[tj]s$': [
      '@swc/jest',
      { sourceMaps: 'inline', jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  // It is an ES module, which jest can't require from CommonJS on every Node that the project supports.
  transformIgnorePatterns: ['/node_modules/(?!unbash/)'],
  // Examples import the package by its name, as a user would.
  moduleNameMapper: { '^longhaul$': '<rootDir>/src/index.ts', '^longhaul/(.*)$': ['<rootDir>/src/$1.ts', '<rootDir>/src/$1/index.ts'] },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Each test file may run a worker, a bundle and a server: on two cores, more at once only makes all of them slow.
  maxWorkers: 3,
  // Longer than any wait for a condition: on a busy machine a test is slow, and not wrong.
  testTimeout: 60_000,
};
