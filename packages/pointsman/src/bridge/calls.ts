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

/** An object with a function of its own for each name. */
function buildAll(names: readonly string[], make: (target: number) => AnyFunction): object {
  const view = {};
  for (const [target, name] of names.entries()) put(view, name.split('.'), make(target));
  return view;
}

function put(view: object, path: readonly string[], call: AnyFunction): void {
  let place = view as Record<string, unknown>;
  for (const step of path.slice(0, -1)) {
    if (!Object.hasOwn(place, step)) place[step] = {};
    place = place[step] as Record<string, unknown>;
  }
  place[path[path.length - 1] as string] = call;
}

/** Which functions a name at the top leads to: their names from there on, and their places. */
type Branch = (readonly [path: readonly string[], target: number])[];

/** Makes a function of a view. */
const MAKE = Symbol('make');

interface LazyView {
  readonly [MAKE]: (target: number) => AnyFunction;
}

const prototypes = new WeakMap<readonly string[], object>();

/** Like {@link build}, but makes each function when it is first read, because most of these views call only one. */
function lazy(names: readonly string[], make: (target: number) => AnyFunction): object {
  let prototype = prototypes.get(names);
  if (prototype === undefined) {
    prototype = lazyPrototype(names);
    prototypes.set(names, prototype);
  }
  return Object.create(prototype, { [MAKE]: { value: make } });
}

function lazyPrototype(names: readonly string[]): object {
  const branches = new Map<string, Branch>();
  for (const [target, name] of names.entries()) {
    const [first, ...path] = name.split('.') as [string, ...string[]];
    const branch = branches.get(first) ?? [];
    branch.push([path, target]);
    branches.set(first, branch);
  }
  const prototype = {};
  for (const [name, branch] of branches) {
    Object.defineProperty(prototype, name, {
      enumerable: true,
      get(this: LazyView) {
        const holder: Record<string, unknown> = {};
        for (const [path, target] of branch) put(holder, [name, ...path], this[MAKE](target));
        const value = holder[name];
        Object.defineProperty(this, name, { value, enumerable: true });
        return value;
      },
    });
  }
  return prototype;
}

type Build = typeof lazy;

function asynchronousView(
  endpoint: BridgeEndpoint,
  names: readonly string[],
  options: WaitOptions | undefined,
  build: Build,
): object {
  // An error before the call is sent rejects too.
  const make =
    (target: number) =>
    (...args: unknown[]) =>
      endpoint.call(target, args, options);
  return Object.assign(build(names, make), {
    batch: async (note: (calls: object) => readonly TargetedCall[]) => {
      const calls = noted(names, note).map(({ target, args }) =>
        endpoint.call(target, args, options),
      );
      // As where it blocks: the first error in the order of the calls, when nothing is under way.
      await Promise.allSettled(calls);
      return Promise.all(calls);
    },
  });
}

export function asynchronous(endpoint: BridgeEndpoint, names: readonly string[]): object {
  return asynchronousView(endpoint, names, undefined, buildAll);
}

/** The same with options. */
export function asynchronousWith(
  endpoint: BridgeEndpoint,
  names: readonly string[],
  options: WaitOptions,
): object {
  return asynchronousView(endpoint, names, options, lazy);
}

/** All ways to call. */
function calls(
  endpoint: BridgeEndpoint,
  names: readonly string[],
  options: WaitOptions | undefined,
  build: Build,
): object {
  const block =
    (target: number) =>
    (...args: unknown[]) =>
      endpoint.block(target, args, options);
  const send =
    (target: number) =>
    (...args: unknown[]) =>
      endpoint.send(target, args);
  return Object.assign(build(names, block), {
    async: asynchronousView(endpoint, names, options, build),
    send: build(names, send),
    batch: (note: (calls: object) => readonly TargetedCall[]) =>
      endpoint.blockForAll(noted(names, note), options),
    with(more: WaitOptions) {
      checkWaitOptions(more);
      return calls(endpoint, names, { ...options, ...more }, lazy);
    },
  });
}

/** Puts all ways to call on `view`. */
export function fill(view: object, endpoint: BridgeEndpoint, names: readonly string[]): object {
  return Object.assign(view, calls(endpoint, names, undefined, buildAll));
}

/**
 * A view for functions whose names are not known yet. A call returns `early(name)` as long as `connected` returns
 * nothing. Later it calls the function of the view that `connected` returns, so a view that was read before the bridge
 * was connected stays valid.
 */
export function unknown(
  early: (name: string) => unknown,
  connected: () => object | undefined,
): object {
  const call = (name: string, args: unknown[]): unknown => {
    const view = connected();
    if (view === undefined) return early(name);
    let found: unknown = view;
    for (const step of name.split('.')) found = (found as Record<string, unknown>)?.[step];
    if (typeof found !== 'function') throw new TypeError(`${name} is not a function`);
    return found(...args);
  };
  return new Proxy({}, { get: (_, key) => unknownFunction(call, key, '') });
}

function unknownFunction(
  call: (name: string, args: unknown[]) => unknown,
  key: string | symbol,
  prefix: string,
): unknown {
  // What awaits, prints or serializes the view asks for these.
  if (typeof key === 'symbol' || key === 'then' || key === 'toJSON') return undefined;
  const name = prefix + key;
  return new Proxy(() => {}, {
    apply: (_, __, args) => call(name, args),
    get: (_, key) => unknownFunction(call, key, `${name}.`),
  });
}

function noted(
  names: readonly string[],
  note: (calls: object) => readonly TargetedCall[],
): readonly TargetedCall[] {
  const made = new Set<TargetedCall>();
  const calls = buildAll(names, (target) => (...args) => {
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
