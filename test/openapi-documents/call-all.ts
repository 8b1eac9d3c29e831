import { isDeepStrictEqual } from 'node:util';
import { argumentNames } from '../../src/tools/openapi/arguments';
import { type ApiDocument, openDocument } from '../../src/tools/openapi/document';
import type { DocumentSource } from '../../src/tools/openapi/load-document';
import { openApiTools } from '../../src/tools/openapi/openapi-tools';
import { type FullOperation, operationsOf } from '../../src/tools/openapi/operations';
import type { ApiParameter } from '../../src/tools/openapi/parameters';
import { createToolbox } from '../../src/tools/running/toolbox';
import { startApi, stopServers } from '../tools/openapi/echo-server';
import { MockApi, type Read } from '../tools/openapi/mock-api';
import { sample } from '../tools/openapi/sample';
import { callOf, hostWith } from '../tools/tool-host';

export interface Called {
  calls: number;
  same: number;
  problems: string[];
}

/** Calls every tool of a document with arguments that are valid by the document, and compares them with what a server reads of the request. */
export async function callAll(source: DocumentSource): Promise<Called> {
  const { root, location } = await openDocument(source);
  // The mock follows references within one file only.
  if (JSON.stringify(root).includes('"$ref":"file:')) return { calls: 0, same: 0, problems: [] };
  try {
    return await callEach(source, { root, location });
  } finally {
    await stopServers();
  }
}

async function callEach(source: DocumentSource, { root, location }: Pick<ApiDocument, 'root' | 'location'>): Promise<Called> {
  const api = await startApi();
  const options = { server: `${api.url}/base`, genericTool: false };
  const tools = await openApiTools({ document: location ?? root, ...options });
  const { operations } = await operationsOf(await openDocument(source), options);
  const mock = new MockApi(root, String(root.openapi));
  const toolbox = createToolbox(tools.list());
  const called: Called = { calls: 0, same: 0, problems: [] };
  for (const [at, operation] of operations.entries()) {
    const meant = meaning(mock, operation);
    if (!meant) continue;
    called.calls += 1;
    api.received.length = 0;
    const name = tools.operations[at]?.tool ?? '';
    const { outcome } = await toolbox.execute(callOf(name, meant.args), { ...hostWith(), idempotencyKey: 'key' });
    const [received] = api.received;
    if (!received) {
      called.problems.push(`${name}: not sent: ${JSON.stringify(outcome.content).slice(0, 300)}`);
      continue;
    }
    const read = mock.read(operation.path, operation.method.toLowerCase(), { ...received, url: received.url.slice('/base'.length) });
    if (isDeepStrictEqual(asTexts(read), asTexts(meant.read))) called.same += 1;
    else called.problems.push(`${name}: read ${JSON.stringify(read).slice(0, 400)} instead of ${JSON.stringify(meant.read).slice(0, 400)}`);
  }
  return called;
}

/** A parameter has no type on the wire: where the document allows texts and numbers, `7` may be either. */
function asTexts({ parameters, body }: Read): unknown {
  return { parameters: JSON.parse(JSON.stringify(parameters), (_, value) => (typeof value === 'object' ? value : String(value))), body };
}

/** Arguments that are valid by the document, and what a server should read; `undefined` if no valid arguments were found. */
function meaning(mock: MockApi, operation: FullOperation): { args: Record<string, unknown>; read: Read } | undefined {
  const names = argumentNames(operation);
  const args: Record<string, unknown> = {};
  const parameters: Record<string, unknown> = {};
  for (const [argument, parameter] of names.parameters) {
    const value = sample(mock, parameter.schema);
    const isValid = mock.problems(parameter.schema, value)?.length === 0 && isSendable(parameter, value);
    if (!isValid && parameter.required) return undefined;
    if (!isValid) continue;
    args[argument] = value;
    parameters[`${parameter.in} ${parameter.name}`] = value;
  }
  const { body } = operation;
  if (!body || (body.kind !== 'json' && body.kind !== 'form')) return body?.required ? undefined : { args, read: { parameters } };
  const value = sample(mock, body.schema);
  if (mock.problems(body.schema, value)?.length !== 0) return body.required ? undefined : { args, read: { parameters } };
  return { args: { ...args, body: value }, read: { parameters, body: value } };
}

/** The styles of paths and headers lose types and separators; they are tested one by one in `requests.test.ts`. */
function isSendable({ in: place, style }: ApiParameter, value: unknown): boolean {
  if (place === 'header') return typeof value !== 'object' && /^[ -~]*$/.test(String(value));
  if (place === 'path') return typeof value !== 'object' && value !== '';
  // The names of the parameter are lost in its default style.
  if (typeof value === 'object' && !Array.isArray(value)) return style === 'deepObject' && Object.keys(value ?? {}).length > 0;
  return !Array.isArray(value) || value.every((item) => typeof item !== 'object' && !/[,| ]/.test(String(item)));
}
