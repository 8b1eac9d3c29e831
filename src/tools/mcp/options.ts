import { type AskOptions, askPolicy } from '../../core/ask-policy';
import { unknownFields } from '../../core/closest';
import { isObject } from '../../core/json';
import type { AskPolicy, PlainEffect } from '../../core/tool';
import type { Environment } from '../built-in/shell-environment';
import { type ApprovalRule, checkedApproval } from '../defining/approval';
import { longestTimeoutMs } from '../defining/define-tool';
import { isGrant, type TokenGrant } from '../oauth/grant';

/** What you decide about a tool, instead of the server. */
export interface McpToolRules {
  /** Default: by the server's annotations. `readOnlyHint` is `pure`, `idempotentHint` is `keyed`; without them `once`. */
  effect?: PlainEffect | undefined;
  /** Default: the server's `approval`. */
  approval?: ApprovalRule<Record<string, unknown>> | undefined;
  /** Default: the server's `timeoutMs`. */
  timeoutMs?: number | undefined;
}

interface McpServerCommon {
  /** Offer only these tools, by the names that the server gives them. Default: all. */
  only?: readonly string[];
  /** Whether calls need an approval. Default `never`. */
  approval?: ApprovalRule<Record<string, unknown>>;
  /** Timeout of one call, in milliseconds. Default: the agent's `toolTimeoutMs`. */
  timeoutMs?: number;
  /**
   * Whether the server may ask people questions in the middle of a call (elicitation), who may answer, and until when. `true`: anybody, without a
   * deadline. Default: it may not. With it, each call has a connection of its own while it runs, because a question does not say which call asks.
   */
  questions?: true | McpQuestions;
  /** Rules for single tools, by the names that the server gives them. */
  rules?: Readonly<Record<string, McpToolRules>>;
  /** How long the server may take to start, to connect and to list its tools, in milliseconds. Default 20,000. */
  startTimeoutMs?: number;
}

/** Who answers a server's questions, and until when. At the end of `onDeadline`, the server is told that nobody chose an answer. */
export type McpQuestions = Pick<AskOptions, 'groups' | 'users' | 'deadlineMs' | 'onDeadline'>;

/** A server that the worker starts as a process, and talks to over its standard input and output. */
export interface McpProcess extends McpServerCommon {
  /** The program: a path, or a name that is found in the PATH of the server's environment. It is run without a shell. */
  command: string;
  args?: readonly string[] | undefined;
  /** Variables, in addition to PATH, HOME, TMPDIR and LANG. Nothing else of the worker's environment is passed on. */
  environment?: Environment | undefined;
  /** The folder in which it runs; relative paths in `command` and `args` begin there. Default: the home folder of the worker's user. */
  folder?: string | undefined;
}

/** A server that is reached over streamable HTTP. */
export interface McpUrl extends McpServerCommon {
  url: string | URL;
  /** What authenticates requests. It stays on the worker. */
  credentials?: McpCredentials | undefined;
  /**
   * Names the user of a thread. Each user then has a connection, a list of tools and credentials of their own. A thread of which it returns undefined
   * gets no tools of the server. Default: all threads of the worker share one connection.
   */
  user?: McpUser | undefined;
}

/**
 * How to get an OAuth token, which is renewed before it expires; or a function that returns that, or headers such as `{ authorization: 'Bearer …' }`,
 * which are kept and sent with every request. The function is called again, with `refresh: true`, when the server answers with 401; the request is then
 * repeated once.
 */
export type McpCredentials = TokenGrant | ((ctx: McpCredentialsRequest) => McpCredential | Promise<McpCredential>);

type McpCredential = Record<string, string> | TokenGrant;

export interface McpCredentialsRequest {
  /** The server has refused what was returned before. */
  refresh: boolean;
  /** The user that the server's option `user` named; empty without that option. */
  user: string;
}

export type McpUser = (thread: { threadId: string }) => string | undefined | Promise<string | undefined>;

export type McpServer = McpProcess | McpUrl;

export const defaultStartTimeoutMs = 20_000;

export function isProcess(server: McpServer): server is McpProcess {
  return 'command' in server;
}

/** Two underscores separate it from the tool's name, so it has none at its end and no two in a row. */
const serverName = /^(?!.*__)[a-zA-Z0-9](?:[a-zA-Z0-9_-]{0,30}[a-zA-Z0-9-])?$/;

/** Returns the problems of servers, one sentence each. */
export function problemsOfServers(servers: unknown): string[] {
  if (!isObject(servers) || Object.keys(servers).length === 0)
    return ["servers: give at least one, such as { files: { command: 'npx', args: […] } }"];
  return Object.entries(servers).flatMap(([name, server]) => {
    const problems = isObject(server) ? problemsOfServer(server as unknown as McpServer) : ['is no object'];
    if (!serverName.test(name))
      problems.unshift("its name must be 1 to 32 letters, digits, '-' or single '_', and must not begin or end with '_'");
    return problems.map((problem) => `servers.${name}: ${problem}`);
  });
}

/** Every option, to detect misspelt ones. The compiler rejects missing and unknown ones here. */
const ofServers: Record<keyof McpProcess | keyof McpUrl, true> = {
  only: true,
  approval: true,
  timeoutMs: true,
  questions: true,
  rules: true,
  startTimeoutMs: true,
  command: true,
  args: true,
  environment: true,
  folder: true,
  url: true,
  credentials: true,
  user: true,
};
const ofRules: Record<keyof McpToolRules, true> = { effect: true, approval: true, timeoutMs: true };

function problemsOfServer(server: McpServer): string[] {
  const { only, rules = {}, startTimeoutMs } = server;
  return [
    ...unknownFields(server, Object.keys(ofServers)),
    ...('command' in server === 'url' in server ? ['give either command or url'] : problemsOfPlace(server)),
    ...(only === undefined || (Array.isArray(only) && only.every((name) => typeof name === 'string'))
      ? []
      : ['only: give a list of names']),
    ...problemsOfTimes({ startTimeoutMs }),
    ...problemsOfQuestions(server),
    ...problemsOfToolRules(server),
    ...Object.entries(rules).flatMap(([tool, rule]) =>
      [...unknownFields(rule, Object.keys(ofRules)), ...problemsOfToolRules(rule)].map((problem) => `rules.${tool}.${problem}`),
    ),
  ];
}

function problemsOfQuestions({ questions }: McpServer): string[] {
  if (questions === undefined || questions === true) return [];
  if (!isObject(questions)) return ["questions: give true, or who may answer, such as { groups: ['ops'] }"];
  const { policy, problems } = askPolicy(questions);
  const approves = problems.length === 0 && policy.onDeadline?.includes('approve');
  return [
    ...unknownFields(questions, ['groups', 'users', 'deadlineMs', 'onDeadline'] satisfies (keyof McpQuestions)[]).map(
      (problem) => `questions.${problem}`,
    ),
    ...problems.map((problem) => `questions: ${problem}`),
    ...(approves ? ["questions: onDeadline is 'approve', which answers nothing; use 'deny'"] : []),
  ];
}

/** The policy by which people are asked a server's questions; undefined if it may not ask. */
export function questionPolicy({ questions }: McpServer): AskPolicy | undefined {
  return questions === undefined ? undefined : questions === true ? {} : structuredClone(askPolicy(questions).policy);
}

function problemsOfPlace(server: McpServer): string[] {
  if (isProcess(server)) {
    const { command, args = [] } = server;
    const isText = (value: unknown) => typeof value === 'string' && !value.includes('\0');
    return isText(command) && command !== '' && args.every(isText)
      ? []
      : ['command: give a program, and its arguments as a list of texts in args'];
  }
  const { credentials, user } = server;
  const url = URL.canParse(String(server.url)) ? new URL(server.url) : undefined;
  return [
    ...(url && /^https?:$/.test(url.protocol) ? [] : ['url: give an address with http: or https:']),
    ...(url && url.username + url.password !== '' ? ['url: contains a user or a password; use credentials'] : []),
    ...(credentials === undefined || typeof credentials === 'function' || isGrant(credentials)
      ? []
      : ['credentials: give a function that returns headers, or an OAuth grant ({ tokenUrl, clientId, … })']),
    ...(user === undefined || typeof user === 'function' ? [] : ['user: give a function that returns the name of a user']),
    ...(user !== undefined && isGrant(credentials) ? ['credentials: give a function, because each user has credentials of their own'] : []),
  ];
}

function problemsOfToolRules({ effect, approval, timeoutMs }: McpToolRules): string[] {
  const problems = problemsOfTimes({ timeoutMs });
  if (effect !== undefined && !['pure', 'keyed', 'once'].includes(effect)) problems.push("effect: use 'pure', 'keyed' or 'once'");
  try {
    checkedApproval(approval ?? 'never', (problem) => new Error(`approval: ${problem}`));
  } catch (error) {
    problems.push((error as Error).message);
  }
  return problems;
}

function problemsOfTimes(times: Record<string, number | undefined>): string[] {
  return Object.entries(times)
    .filter(([, ms]) => ms !== undefined && !(Number.isFinite(ms) && ms > 0 && ms <= longestTimeoutMs))
    .map(([field, ms]) => `${field}: is ${ms}; use milliseconds above 0 and at most ${longestTimeoutMs} (24 days)`);
}
