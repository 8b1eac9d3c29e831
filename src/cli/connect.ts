import { type ClientOptions, LonghaulClient } from '../client';

/** Does something with a client, and closes it whatever comes of it. */
export async function withClient<T>(options: ClientOptions, work: (client: LonghaulClient) => Promise<T>): Promise<T> {
  const client = await LonghaulClient.connect(options);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
