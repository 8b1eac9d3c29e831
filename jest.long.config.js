/** Tests that start whole programs, wait for outages to end or run hundreds of turns. @type {import('jest').Config} */
module.exports = { ...require('./jest.config'), testMatch: ['<rootDir>/test/**/*.long.test.ts'], testPathIgnorePatterns: [] };
