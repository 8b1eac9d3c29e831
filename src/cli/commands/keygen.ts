import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { UsageError } from '../exit';
import { styled } from '../views/styled';
import { note, printJson } from '../views/terminal';

/** Creates an Ed25519 key pair. The private key is written only to the file, which only its owner can read. An existing file is not overwritten. */
export function keygen(name: string, { out, group }: { out?: string; group?: string[] }): void {
  const file = out ?? fileFor(name);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  try {
    writeFileSync(file, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'EEXIST' ? `${file} already exists; choose another file with --out` : `The key was not written: ${message}`,
    );
  }
  printJson({
    [name]: { publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'), ...(group && { groups: group }) },
  });
  note(styled`The private key of ${name} is in ${file}. Sign with it: LONGHAUL_SIGNING_KEY=${file} LONGHAUL_USER=${name}`);
  note(styled`Workers accept only signed decisions if LONGHAUL_SIGNERS names a JSON file of such entries, one for each person.`);
}

function fileFor(name: string): string {
  if (/^\w[\w.-]*$/.test(name)) return `${name}.pem`;
  throw new UsageError(`"${name}" can't be used as a file name; name the file for the key with --out`);
}
