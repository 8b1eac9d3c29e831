import { wellFormed } from '../../core/text';
import { ModelFailure, type ModelProvider } from '../model';
import { accessOf, type ModelCredentials } from '../wire/access';
import { callOverWire, type Patience } from '../wire/call';
import { fetchWithErrorObject } from '../wire/error-fetch';
import { troubleOf } from './errors';
import { traitsOf } from './model-traits';
import { encodeRequest } from './request';
import { foldStream } from './stream';

export interface GoogleOptions extends Patience {
  /** Required only for Google's own address. */
  apiKey?: string | undefined;
  /** An access token instead of an API key: `oauth(grant)`, or a function that returns one. It is sent as `Authorization: Bearer`. */
  credentials?: ModelCredentials | undefined;
  /** Any server that speaks the Gemini API. Default `https://generativelanguage.googleapis.com`. Without a version, `/v1beta` is added. */
  baseUrl?: string | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
}

const ownAddress = 'https://generativelanguage.googleapis.com';
const variables = { key: 'GEMINI_API_KEY', baseUrl: 'GOOGLE_GEMINI_BASE_URL' };

/**
 * Creates a provider for Google's Gemini API. Each call is one streamed HTTP request, without retries. Options are checked at the first call,
 * so a missing key fails the call and not the worker.
 */
export function google(options: GoogleOptions = {}): ModelProvider {
  return {
    // It is not documented whether one generation reads the signatures of another.
    family: (model) => traitsOf(model).family,
    reasons: (model) => traitsOf(model).thinking !== 'none' || undefined,
    async call(request, { signal, onDelta }) {
      signal.throwIfAborted();
      const base = baseOf(options);
      const { callee, send } = accessOf(options, { host: base.host, model: request.model, variables });
      return callOverWire(signal, {
        ...options,
        callee,
        fold: foldStream(onDelta),
        async send(line) {
          const body = encodeRequest(request);
          return send(line, async (authorization) => {
            const init = { method: 'POST', headers: headersOf(options, authorization), body, signal: line };
            const response = await fetchWithErrorObject(addressOf(base, request.model), init);
            if (!response.ok) throw await troubleOf(response);
            return response;
          });
        },
      });
    },
  };
}

function baseOf({ baseUrl, apiKey, credentials }: GoogleOptions): URL {
  const given = baseUrl || ownAddress;
  if (!URL.canParse(given) || !/^https?:/i.test(given)) {
    throw new ModelFailure('bad-request', `The base URL of Google is not an http(s) URL. Check ${variables.baseUrl}.`);
  }
  const base = new URL(given);
  if (base.hostname === new URL(ownAddress).hostname && !apiKey && !credentials) {
    throw new ModelFailure('auth', `There is no API key for ${base.host}. Set ${variables.key}.`);
  }
  return base;
}

/** The model's name is one segment of the path, after the kind of model. */
function addressOf(base: URL, model: string): URL {
  const [, kind = 'models', name = ''] = /^(?:(models|tunedModels)\/)?(.*)$/s.exec(wellFormed(model)) ?? [];
  const path = base.pathname.replace(/\/+$/, '');
  const version = /\/v\d\w*$/.test(path) ? '' : '/v1beta';
  const address = new URL(base);
  address.pathname = `${path}${version}/${kind}/${encodeURIComponent(name)}:streamGenerateContent`;
  address.searchParams.set('alt', 'sse');
  return address;
}

function headersOf({ apiKey, credentials, headers = {} }: GoogleOptions, authorization: Record<string, string>): Headers {
  const all = new Headers({ 'content-type': 'application/json', ...(apiKey && !credentials && { 'x-goog-api-key': apiKey }) });
  for (const [name, value] of Object.entries({ ...headers, ...authorization })) all.set(name, value);
  return all;
}
