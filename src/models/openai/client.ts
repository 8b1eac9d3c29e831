import OpenAI from 'openai';
import { ModelFailure, type ModelProvider } from '../model';
import { traitsOf } from '../openai-responses/model-traits';
import { accessOf, type ModelCredentials } from '../wire/access';
import { callOverWire, type Patience } from '../wire/call';
import { fetchWithErrorObject } from '../wire/error-fetch';
import { encodeRequest } from './request';
import { foldStream } from './stream';

export interface OpenAiOptions extends Patience {
  /** Required only for OpenAI's own address. */
  apiKey?: string | undefined;
  /** An access token instead of an API key: `oauth(grant)`, or a function that returns one. It is sent as `Authorization: Bearer`. */
  credentials?: ModelCredentials | undefined;
  /** Default `https://api.openai.com/v1`. Any server that speaks Chat Completions; usually ends in `/v1`. */
  baseUrl?: string | undefined;
  organization?: string | undefined;
  project?: string | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
}

const ownAddress = 'https://api.openai.com/v1';
export const variables = { key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL' };

/**
 * Creates a provider for Chat Completions, of OpenAI or any compatible server. Each call is one streamed HTTP request, without retries.
 * Reads nothing from the environment. Options are checked at the first call, so a missing key fails the call and not the worker.
 */
export function openAi(options: OpenAiOptions = {}): ModelProvider {
  let ready: Connection | undefined;
  return {
    reasons: (model, settings) => traitsOf(model, settings).reasons || undefined,
    async call(request, { signal, onDelta }) {
      signal.throwIfAborted();
      ready ??= connect(options);
      const { client, host, isOpenAi } = ready;
      const toolNames = request.tools.map(({ name }) => name);
      const { callee, send } = accessOf(options, { host, model: request.model, variables });
      return callOverWire(signal, {
        ...options,
        callee,
        fold: foldStream(toolNames, onDelta),
        send(line) {
          const body = encodeRequest(request, isOpenAi ? 'openai' : 'compatible');
          const headers = { 'content-type': 'application/json' };
          return send(line, (authorization) =>
            client.post('/chat/completions', { body, headers: { ...headers, ...authorization }, stream: true, signal: line }).asResponse(),
          );
        },
      });
    },
  };
}

export interface Connection {
  client: OpenAI;
  host: string;
  isOpenAi: boolean;
}

export function connect(options: OpenAiOptions): Connection {
  const baseURL = options.baseUrl || ownAddress;
  if (!URL.canParse(baseURL) || !/^https?:/i.test(baseURL)) {
    throw new ModelFailure('bad-request', 'The base URL of the model provider is not an http(s) URL. Check OPENAI_BASE_URL.');
  }
  const { host, hostname } = new URL(baseURL);
  const isOpenAi = hostname === 'api.openai.com' || hostname.endsWith('.api.openai.com');
  if (isOpenAi && !options.apiKey && !options.credentials) {
    throw new ModelFailure(
      'auth',
      `There is no API key for ${host}. Set OPENAI_API_KEY, or OPENAI_BASE_URL to the address of a compatible server, which may need no key.`,
    );
  }
  // The SDK would take missing options from the environment, and would log.
  const client = new OpenAI({
    baseURL,
    apiKey: options.apiKey || 'no-key',
    adminAPIKey: null,
    organization: options.organization ?? null,
    project: options.project ?? null,
    webhookSecret: null,
    defaultHeaders: options.headers,
    logLevel: 'off',
    maxRetries: 0,
    // The timeouts of `line.ts` apply; the SDK's must not expire first.
    timeout: 2 ** 31 - 1,
    fetch: fetchWithErrorObject,
  });
  return { client, host, isOpenAi: isOpenAi || hostname.endsWith('.openai.azure.com') };
}
