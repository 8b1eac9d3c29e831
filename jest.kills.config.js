/** Kills the worker at every step of a scripted run. @type {import('jest').Config} */
module.exports = { ...require('./jest.config'), testMatch: ['<rootDir>/test/kills/**/*.test.ts'], testPathIgnorePatterns: [] };
