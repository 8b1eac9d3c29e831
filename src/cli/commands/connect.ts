import { readFileSync } from 'node:fs';
import { type ClientOptions, createSigner, type DecisionSigner, LonghaulClient } from '../../client';
import { readSigningKeyFile } from '../../config';
import { UsageError } from '../exit';

/** Runs `work` with a client, and closes the client afterwards in any case. */
export async function withClient<T>(options: ClientOptions, work: (client: LonghaulClient) => Promise<T>): Promise<T> {
  const signer = configuredSigner();
  const client = await LonghaulClient.connect({ ...(signer && { signer }), ...options });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

function configuredSigner(): DecisionSigner | undefined {
  const signingKeyFile = readSigningKeyFile();
  if (signingKeyFile === undefined) return undefined;
  try {
    return createSigner({ privateKey: readFileSync(signingKeyFile, 'utf8') });
  } catch (error) {
    throw new UsageError(`LONGHAUL_SIGNING_KEY: ${signingKeyFile} can't be used: ${(error as Error).message}`);
  }
}
