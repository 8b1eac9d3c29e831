import type { ModelProvider } from '../model';
import { type Connection, connect, type OpenAiOptions, variables } from '../openai/client';
import { accessOf } from '../wire/access';
import { callOverWire } from '../wire/call';
import { traitsOf } from './model-traits';
import { encodeRequest } from './request';
import { foldStream } from './stream';

/** `baseUrl`: any server that implements the Responses API; usually ends in `/v1`. */
export type OpenAiResponsesOptions = OpenAiOptions;

/** The API rejects a lower threshold. */
const leastCompactedTokens = 1_000;

/**
 * Creates a provider for the Responses API, of OpenAI or any compatible server. Each call is one streamed HTTP request, without retries.
 * The server stores nothing: each request carries the whole conversation, including encrypted reasoning.
 */
export function openAiResponses(options: OpenAiResponsesOptions = {}): ModelProvider {
  let ready: Connection | undefined;
  return {
    // A snapshot and its alias are one model. The API doesn't document whether other models read its reasoning, and rejects what it can't read.
    family: (model) => model.replace(/-\d{4}-\d{2}-\d{2}$/, ''),
    compactsFrom: () => leastCompactedTokens,
    reasons: (model, settings) => traitsOf(model, settings).reasons || undefined,
    async call(request, { signal, onDelta }) {
      signal.throwIfAborted();
      ready ??= connect(options);
      const { client, host } = ready;
      const toolNames = request.tools.map(({ name }) => name);
      const { callee, send } = accessOf(options, { host, model: request.model, variables });
      return callOverWire(signal, {
        ...options,
        callee,
        fold: foldStream(toolNames, onDelta),
        send(line) {
          const headers = { 'content-type': 'application/json' };
          const body = encodeRequest(request);
          return send(line, (authorization) =>
            client.post('/responses', { body, headers: { ...headers, ...authorization }, stream: true, signal: line }).asResponse(),
          );
        },
      });
    },
  };
}
