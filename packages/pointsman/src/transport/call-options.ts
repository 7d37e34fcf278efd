/** What a caller may ask for besides the answer. */

import { invalid } from '../sync/errors.js';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
}

/** Throws unless the options of a call can be used. */
export function checkCallOptions(options: CallOptions): void {
  if (Object(options) !== options) throw invalid('options', options, 'an object');
  const { signal, timeout } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('signal', signal, 'an AbortSignal');
  }
  if (
    timeout !== undefined &&
    !(typeof timeout === 'number' && timeout >= 0 && timeout < 2 ** 31)
  ) {
    throw invalid('timeout', timeout, 'a number of milliseconds from 0 to 2147483647', 'number');
  }
}
