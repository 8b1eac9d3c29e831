/** A provider exceeded a limit of a call. Its message is such as `a line of its stream has more than 2000000 characters`. */
export class LimitExceeded extends Error {
  override readonly name = 'LimitExceeded';

  constructor(what: string, max: number, unit: string) {
    super(`${what} has more than ${max} ${unit}`);
  }
}
