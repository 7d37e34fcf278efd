/**
 * Builds the functions that call the other side from the list of its names. A name with dots is a function of a nested
 * object.
 *
 * Invariant: a function is identified by its index in the other side's list of names.
 */

import { invalid } from '../sync/errors.js';
import { checkWaitOptions, type WaitOptions } from '../sync/options.js';
import type { AnyFunction } from '../transport/types.js';
import type { BridgeEndpoint, TargetedCall } from './endpoint.js';

function buildAll(names: readonly string[], make: (target: number) => AnyFunction): object {
  const view = {};
  for (const [target, name] of names.entries()) setPath(view, name.split('.'), make(target));
  return view;
}

function setPath(view: object, path: readonly string[], call: AnyFunction): void {
  let parent = view as Record<string, unknown>;
  for (const key of path.slice(0, -1)) {
    if (!Object.hasOwn(parent, key)) parent[key] = {};
    parent = parent[key] as Record<string, unknown>;
  }
  parent[path[path.length - 1] as string] = call;
}

/** The functions under one top-level name: the rest of each path, and the function's index. */
type Branch = (readonly [path: readonly string[], target: number])[];

/** Key of the function that creates a view's functions. */
const MAKE = Symbol('make');

interface LazyView {
  readonly [MAKE]: (target: number) => AnyFunction;
}

const prototypes = new WeakMap<readonly string[], object>();

/** Like {@link buildAll}, but creates each function on first read: most of these views call only one. */
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
        for (const [path, target] of branch) setPath(holder, [name, ...path], this[MAKE](target));
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
    batch: async (makeCalls: (calls: object) => readonly TargetedCall[]) => {
      const calls = recordBatch(names, makeCalls).map(({ target, args }) =>
        endpoint.call(target, args, options),
      );
      // Waits for all calls, then rejects with the first error in call order.
      await Promise.allSettled(calls);
      return Promise.all(calls);
    },
  });
}

export function asynchronous(endpoint: BridgeEndpoint, names: readonly string[]): object {
  return asynchronousView(endpoint, names, undefined, buildAll);
}

export function asynchronousWith(
  endpoint: BridgeEndpoint,
  names: readonly string[],
  options: WaitOptions,
): object {
  return asynchronousView(endpoint, names, options, lazy);
}

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
    batch: (makeCalls: (calls: object) => readonly TargetedCall[]) =>
      endpoint.blockForAll(recordBatch(names, makeCalls), options),
    with(more: WaitOptions) {
      checkWaitOptions(more);
      return calls(endpoint, names, { ...options, ...more }, lazy);
    },
  });
}

export function addCalls(view: object, endpoint: BridgeEndpoint, names: readonly string[]): object {
  return Object.assign(view, calls(endpoint, names, undefined, buildAll));
}

/**
 * Returns a view for functions whose names are not known yet. A call returns `early(name)` until `connected` returns a
 * view; then it calls the function of that view. So a view that was read early stays valid.
 */
export function unconnectedView(
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
  return new Proxy({}, { get: (_, key) => unconnectedFunction(call, key, '') });
}

function unconnectedFunction(
  call: (name: string, args: unknown[]) => unknown,
  key: string | symbol,
  prefix: string,
): unknown {
  // Read by code that awaits, prints or serializes the view.
  if (typeof key === 'symbol' || key === 'then' || key === 'toJSON') return undefined;
  const name = prefix + key;
  return new Proxy(() => {}, {
    apply: (_, __, args) => call(name, args),
    get: (_, key) => unconnectedFunction(call, key, `${name}.`),
  });
}

function recordBatch(
  names: readonly string[],
  makeCalls: (calls: object) => readonly TargetedCall[],
): readonly TargetedCall[] {
  const made = new Set<TargetedCall>();
  const calls = buildAll(names, (target) => (...args) => {
    const call = { target, args };
    made.add(call);
    return call;
  });
  const chosen = makeCalls(calls);
  if (!Array.isArray(chosen) || chosen.some((call) => !made.has(call))) {
    throw invalid('batch', chosen, 'a function that returns an array of the calls that it made');
  }
  return chosen;
}
