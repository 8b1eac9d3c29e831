import { type ClientOptions, LonghaulClient } from '../client';

/** Does something with a client, and closes it whatever comes of it. */
export async function withClient<T>(options: ClientOptions, work: (client: LonghaulClient) => Promise<T>): Promise<T> {
  const client = await LonghaulClient.connect(options);
  try {
    return await work(client);
  } catch (error) {
    throw (error as Error).name === 'NamespaceNotFoundError' ? noNamespace(client) : error;
  } finally {
    await client.close();
  }
}

function noNamespace({ temporal }: LonghaulClient): Error {
  const name = temporal.options.namespace;
  return new Error(
    `Temporal has no namespace "${name}". Set TEMPORAL_NAMESPACE to one that it has, or create it: temporal operator namespace create -n ${name}`,
  );
}
