import Anthropic from '@anthropic-ai/sdk';
import { ModelFailure, type ModelProvider } from '../model';
import { accessOf, type ModelCredentials } from '../wire/access';
import { callOverWire, type Patience } from '../wire/call';
import { fetchWithErrorObject } from '../wire/error-fetch';
import { thinkingFields, traitsOf } from './model-traits';
import { betasOf, encodeRequest } from './request';
import { foldStream } from './stream';

export interface AnthropicOptions extends Patience {
  /** Required only for Anthropic's own address. */
  apiKey?: string | undefined;
  /** An access token instead of an API key: `oauth(grant)`, or a function that returns one. It is sent as `Authorization: Bearer`. */
  credentials?: ModelCredentials | undefined;
  /** Default `https://api.anthropic.com`. Any server that speaks the Messages API; without `/v1`. */
  baseUrl?: string | undefined;
  /** Sent with every request, such as `anthropic-beta`. */
  headers?: Record<string, string> | undefined;
  /** Whether to set cache breakpoints, so that the next request reads the common prefix from the cache. Default `true`. */
  caching?: boolean | undefined;
}

/** The API rejects a lower trigger. */
const leastCompactedTokens = 50_000;

const ownAddress = 'https://api.anthropic.com';
const variables = { key: 'ANTHROPIC_API_KEY', baseUrl: 'ANTHROPIC_BASE_URL' };

/**
 * Creates a provider for Anthropic's Messages API. Each call is one streamed HTTP request, without retries. Options are checked at the first
 * call, so a missing key fails the call and not the worker.
 */
export function anthropic(options: AnthropicOptions = {}): ModelProvider {
  let ready: { client: Anthropic; host: string } | undefined;
  return {
    // Every Claude model reads or ignores the signed reasoning of another.
    family: () => 'claude',
    // Each request states a maximum, and the API rejects a request if both together exceed the window.
    answerTokens: (model, settings, most) => thinkingFields(traitsOf(model, most), settings).max_tokens,
    // Without an effort no request asks for thinking.
    reasons: (model, { reasoningEffort }) =>
      thinkingFields(traitsOf(model), { reasoningEffort }).thinking !== undefined && reasoningEffort !== 'none',
    compactsFrom: (model) => (traitsOf(model).compacts ? leastCompactedTokens : undefined),
    async call(request, { signal, onDelta }) {
      signal.throwIfAborted();
      ready ??= connect(options);
      const { client, host } = ready;
      const { callee, send } = accessOf(options, { host, model: request.model, variables });
      return callOverWire(signal, {
        ...options,
        callee,
        fold: foldStream(onDelta),
        send(line) {
          const body = encodeRequest(request, { caching: options.caching ?? true });
          const headers = { 'content-type': 'application/json', ...betasOf(request, betaIn(options.headers)) };
          return send(line, (authorization) =>
            client.post('/v1/messages', { body, headers: { ...headers, ...authorization }, stream: true, signal: line }).asResponse(),
          );
        },
      });
    },
  };
}

/** A header of one request replaces that of all requests, and the names of headers have no case. */
function betaIn(headers: Record<string, string> = {}): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === 'anthropic-beta')?.[1];
}

function connect(options: AnthropicOptions): { client: Anthropic; host: string } {
  const baseURL = options.baseUrl || ownAddress;
  if (!URL.canParse(baseURL) || !/^https?:/i.test(baseURL)) {
    throw new ModelFailure('bad-request', `The base URL of Anthropic is not an http(s) URL. Check ${variables.baseUrl}.`);
  }
  const { host, hostname } = new URL(baseURL);
  if (hostname === new URL(ownAddress).hostname && !options.apiKey && !options.credentials) {
    throw new ModelFailure('auth', `There is no API key for ${host}. Set ${variables.key}.`);
  }
  // The SDK would take missing options from the environment, and would log.
  const client = new Anthropic({
    baseURL,
    // With credentials, each request has a token of its own.
    apiKey: options.credentials ? null : options.apiKey || 'no-key',
    authToken: options.credentials ? 'no-token' : null,
    defaultHeaders: options.headers,
    logLevel: 'off',
    maxRetries: 0,
    // The timeouts of `line.ts` apply; the SDK's must not expire first.
    timeout: 2 ** 31 - 1,
    fetch: fetchWithErrorObject,
  });
  return { client, host };
}
