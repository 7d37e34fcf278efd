/**
 * Optional features of runtimes: async contexts, promise hooks, and diagnostics channels. Each may be missing; the others
 * work without it.
 */

/** A store that follows async calls, such as Node's `AsyncLocalStorage`. */
export interface ContextStore<T> {
  getStore(): T | undefined;
  run<Result>(store: T, fn: () => Result): Result;
}

/** The promise hooks of V8. */
export interface PromiseHooks {
  /** Called for a new promise. `parent` is the promise that it waits for. */
  init(promise: object, parent: object | undefined): void;
  before?(promise: object): void;
  after?(promise: object): void;
  settled?(promise: object): void;
}

/** A channel of Node's `diagnostics_channel`. */
export interface DiagnosticsChannel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

export interface Platform {
  createStore?: (<T>() => ContextStore<T>) | undefined;
  /** Installs hooks, and returns a function that removes them. */
  hookPromises?: ((hooks: PromiseHooks) => () => void) | undefined;
  channel?: ((name: string) => DiagnosticsChannel) | undefined;
}

/** The part of `node:diagnostics_channel` that is used. */
interface Channels {
  channel(name: string): { publish(message: unknown): void };
  hasSubscribers(name: string): boolean;
}

interface Builtins {
  'node:async_hooks': { AsyncLocalStorage: new <T>() => ContextStore<T> };
  'node:diagnostics_channel': Channels;
}

/** Asks the module, not the channel, for subscribers: in workerd a channel does not report them. */
export const channelsOf =
  (channels: Channels) =>
  (name: string): DiagnosticsChannel => {
    const channel = channels.channel(name);
    return {
      get hasSubscribers() {
        return channels.hasSubscribers(name);
      },
      publish: (message) => channel.publish(message),
    };
  };

/** Returns a built-in module without an import, which would fail in other runtimes. */
function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
  try {
    const { process } = globalThis as {
      process?: { getBuiltinModule?(name: Name): Builtins[Name] | undefined };
    };
    return process?.getBuiltinModule?.(name);
  } catch {
    return undefined;
  }
}

function platformHere(): Platform {
  const asyncHooks = builtin('node:async_hooks');
  const channels = builtin('node:diagnostics_channel');
  return {
    createStore: asyncHooks && (() => new asyncHooks.AsyncLocalStorage()),
    channel: channels && channelsOf(channels),
  };
}

let current: Platform | undefined;

/** Returns the platform that was set, or the features that can be found without an import. */
export function platform(): Platform {
  current ??= platformHere();
  return current;
}

/** Sets the platform. Must be called before any primitive is watched. */
export function usePlatform(platform: Platform): void {
  current = platform;
}
