/** Parses text that any client may have written. */

import { describe } from '../../sync/errors.js';

export class MalformedError extends Error {
  override readonly name = 'MalformedError';

  constructor(what: string, text: unknown) {
    super(`${what} cannot be read: ${describe(text).slice(0, 100)}`);
  }
}

/** Matches a pattern. Throws a {@link MalformedError} if the text does not match. */
export function parse(what: string, text: unknown, pattern: RegExp): RegExpExecArray {
  const found = typeof text === 'string' ? pattern.exec(text) : null;
  if (found === null) throw new MalformedError(what, text);
  return found;
}
