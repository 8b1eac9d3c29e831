import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { lockFile } from '../../src/tools/built-in/file-lock';
import { newFolder, removeFolders } from './tool-host';

/** The module itself: a namespace import is a copy of it. */
const files: typeof fs = jest.requireActual('node:fs/promises');

afterAll(removeFolders);

/** Holds each lock several times; exits with 1 if another process holds one at the same time. */
const holdEach = `
  const { lockFile } = require('./src/tools/built-in/file-lock.ts');
  const { open, unlink } = require('node:fs/promises');
  const { setTimeout } = require('node:timers/promises');
  const hold = async (file) => {
    for (let at = 0; at < 4; at++) {
      const release = await lockFile(file);
      const held = await open(file + '.held', 'wx').catch(() => { console.error('two holders of ' + file); process.exit(1); });
      await held.close();
      await setTimeout(Math.random() * 4);
      await unlink(file + '.held');
      await release();
    }
  };
  Promise.all(process.argv.slice(1).map(hold)).then(() => process.exit(0));`;

describe('the lock of a file', () => {
  test('has one holder at a time when many processes wait for locks of dead ones', async () => {
    const folder = await newFolder();
    const held = Array.from({ length: 40 }, (_, at) => join(folder, String(at)));
    for (const [at, file] of held.entries()) {
      const locks = join(folder, `.${at}.locks`);
      await fs.mkdir(locks);
      await fs.writeFile(join(locks, String(at * 7 + 1)), '');
      await fs.writeFile(join(locks, 'note'), file);
    }
    const processes = Array.from({ length: 5 }, () =>
      spawn(process.execPath, ['--require', 'tsx/cjs', '--eval', holdEach, ...held], { stdio: 'inherit' }),
    );
    expect(await Promise.all(processes.map((one) => once(one, 'exit')))).toEqual(processes.map(() => [0, null]));
    // No entries are left but the last.
    expect(await fs.readdir(join(folder, '.3.locks'))).toEqual([String(22 + 5 * 4), 'note']);
  }, 120_000);

  test('is not taken by a process that decided long ago that its holder was dead', async () => {
    const file = join(await newFolder(), 'rules');
    await (await lockFile(file))();
    const { open } = files;
    let goOn = () => {};
    const slow = new Promise<void>((resolve) => {
      const spy = jest.spyOn(files, 'open').mockImplementationOnce(async (...args) => {
        spy.mockRestore();
        resolve();
        await new Promise<void>((begin) => {
          goOn = begin;
        });
        return open(...args);
      });
    });
    const late = lockFile(file);
    await slow;
    for (let turn = 0; turn < 3; turn += 1) await (await lockFile(file))();
    const release = await lockFile(file);
    let isTaken = false;
    void late.then(() => {
      isTaken = true;
    });
    const locks = join(file, '..', '.rules.locks');
    goOn();
    // It creates its entry, and removes it.
    const deadline = Date.now() + 1_000;
    while (!isTaken && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(isTaken).toBe(false);
    expect(await fs.readdir(locks)).toEqual(['5']);
    await release();
    await (await late)();
    expect(await fs.readdir(locks)).toEqual(['6']);
  });
});
