import { type Refusal, type RefusalCode, refusal } from './refusal';

/** A valid request, or why it is refused. */
export type Checked<T> = { ok: true; request: T } | ({ ok: false } & Refusal);

export const yes = <T>(request: T): Checked<T> => ({ ok: true, request });
export const no = (reason: string, code?: RefusalCode): { ok: false } & Refusal => ({ ok: false, ...refusal(reason, code) });
/** As `no`, with an existing refusal. */
export const refused = (found: Refusal): { ok: false } & Refusal => ({ ok: false, ...found });
