/** How the error of a process begins that lacks the key of a payload. The key's id follows. */
export const keyMissing = 'A payload is encrypted with key';
