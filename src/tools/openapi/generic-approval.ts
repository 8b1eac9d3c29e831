import type { Approval } from '../defining/approval';
import type { FullOperation } from './operations';
import { urlBelow } from './request';

/** An operation that needs approval. */
export interface ApprovedOperation {
  operation: Pick<FullOperation, 'method' | 'path' | 'server'>;
  approval: Approval;
}

/**
 * The approval of a request that names its own method and path: that of the tool, and in any case that of the operation that the request amounts
 * to. The arguments of the operation are not known here, so a rule that decides by them asks always.
 */
export function genericApproval(server: URL, own: Approval | undefined, approved: readonly ApprovedOperation[]): Approval | undefined {
  if (approved.length === 0) return own;
  const known = approved.map(({ operation, approval }) => ({ ...operation, approval, steps: stepsOf(pathnameOf(operation)) }));
  const find = (method: string, url: URL) => {
    const steps = stepsOf(url.pathname);
    return known.find((one) => one.method === method && one.server.origin === url.origin && matches(one.steps, steps));
  };
  return {
    ask: own?.ask ?? {},
    when(args) {
      const { method, path } = args as { method: string; path: string };
      const found = find(method, urlBelow(server, path, []));
      if (found) return found.approval.ask;
      if (!own) return false;
      return own.when === 'always' ? true : own.when(args);
    },
  };
}

function pathnameOf({ server, path }: ApprovedOperation['operation']): string {
  return `${server.pathname}${path}`;
}

/** Services tend to ignore the case of a path, empty segments and parameters after a semicolon, so they make no difference here. */
function stepsOf(pathname: string): string[] {
  return pathname
    .split('/')
    .map((step) => decoded(step).split(';')[0]?.toLowerCase() ?? '')
    .filter((step) => step !== '');
}

/** A step of the template that has a parameter matches any other. */
function matches(template: readonly string[], steps: readonly string[]): boolean {
  return template.length === steps.length && template.every((step, at) => step.includes('{') || step === steps[at]);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
