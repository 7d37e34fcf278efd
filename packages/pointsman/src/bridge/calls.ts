/**
 * Turns the names of what the other side exposes into functions to call. A name with dots is a
 * function of an object in the API.
 *
 * Invariant: a function is called by its place in the list of names that the other side has given.
 */

import { invalid } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import type { AnyFunction } from '../transport/types.js';
import type { BridgeEndpoint, TargetedCall } from './endpoint.js';

/** Puts a function of its own for each name on `view`. */
function build(
  view: object,
  names: readonly string[],
  make: (target: number) => AnyFunction,
): object {
  for (const [target, name] of names.entries()) {
    const path = name.split('.');
    const last = path.pop() as string;
    let place = view as Record<string, unknown>;
    for (const step of path) {
      if (!Object.hasOwn(place, step)) place[step] = {};
      place = place[step] as Record<string, unknown>;
    }
    place[last] = make(target);
  }
  return view;
}

export function asynchronous(
  endpoint: BridgeEndpoint,
  names: readonly string[],
  options?: WaitOptions,
): object {
  const view = {
    batch: async (note: (calls: object) => readonly TargetedCall[]) => {
      const calls = noted(names, note).map(({ target, args }) =>
        endpoint.call(target, args, options),
      );
      // As where it blocks: the first error in the order of the calls, when nothing is under way.
      await Promise.allSettled(calls);
      return Promise.all(calls);
    },
  };
  return build(view, names, (target) => (...args) => {
    // A call that cannot be made rejects as well.
    return endpoint.call(target, args, options);
  });
}

function sending(endpoint: BridgeEndpoint, names: readonly string[]): object {
  return build(
    {},
    names,
    (target) =>
      (...args) =>
        endpoint.send(target, args),
  );
}

/** Puts all ways to call on `view`. */
export function fill(
  view: object,
  endpoint: BridgeEndpoint,
  names: readonly string[],
  options?: WaitOptions,
): object {
  build(
    view,
    names,
    (target) =>
      (...args) =>
        endpoint.block(target, args, options),
  );
  const later = asynchronous(endpoint, names, options);
  const silent = sending(endpoint, names);
  return Object.assign(view, {
    async: later,
    send: silent,
    batch: (note: (calls: object) => readonly TargetedCall[]) =>
      endpoint.blockForAll(noted(names, note), options),
    with(more: WaitOptions) {
      checkWaitOptions(more);
      return fill({}, endpoint, names, { ...options, ...more });
    },
  });
}

function noted(
  names: readonly string[],
  note: (calls: object) => readonly TargetedCall[],
): readonly TargetedCall[] {
  const made = new Set<TargetedCall>();
  const calls = build({}, names, (target) => (...args) => {
    const call = { target, args };
    made.add(call);
    return call;
  });
  const chosen = note(calls);
  if (!Array.isArray(chosen) || chosen.some((call) => !made.has(call))) {
    throw invalid('batch', chosen, 'a function that returns an array of the calls it was given');
  }
  return chosen;
}
