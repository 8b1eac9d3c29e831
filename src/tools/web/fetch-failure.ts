import { isToolFailure, ToolFailure } from '../defining/tool-failure';
import { PrivateAddressError } from './open-url';
import { UnreadablePageError } from './readable-text';

/** Says what went wrong with a request, for the model: the time, the name, the certificate, the address or the connection. */
export function fetchFailure(error: unknown, { url, timeoutMs, timedOut }: { url: string; timeoutMs: number; timedOut: boolean }): Error {
  if (isToolFailure(error)) return error;
  const { host } = new URL(url);
  const failure = (name: string, problem: string) => new ToolFailure(`Error: ${problem}`, { name });
  if (timedOut) {
    const message = `${host} did not answer completely within ${timeoutMs / 1_000} s.`;
    return new ToolFailure(`Error: ${message}`, { status: 'timed-out', name: 'FetchTimeoutError', message });
  }
  if (error instanceof PrivateAddressError) {
    return failure(
      'FetchAddressError',
      `${error.message}, and web_fetch connects only to public ones unless the agent's settings allow this host.`,
    );
  }
  if (error instanceof UnreadablePageError) return failure('FetchContentError', `${error.message}.`);
  const code = codeOf(error);
  if (/^(?:ENOTFOUND|EAI_|EDNS|ENODATA)/.test(code)) return failure('FetchNameError', `the name ${host} can't be resolved (${code}).`);
  if (isAboutTls(code))
    return failure('FetchCertificateError', `no secure connection to ${host}: its certificate or TLS is not valid (${code}).`);
  return failure('FetchConnectionError', `no complete answer from ${host}: the connection failed${code && ` (${code})`}.`);
}

function isAboutTls(code: string): boolean {
  return /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_)/.test(code);
}

/** Several addresses that were tried give an error with a list of errors. */
function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] };
  if (typeof code === 'string') return code;
  return errors?.[0] === undefined ? '' : codeOf(errors[0]);
}
