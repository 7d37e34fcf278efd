/**
 * What a runtime has that not all have: contexts that follow asynchronous calls, hooks that see promises, and
 * channels for whoever observes a program from outside. Each may be missing; the rest works without it.
 */

/** A value that follows asynchronous calls, as Node's `AsyncLocalStorage`. */
export interface ContextStore<T> {
  getStore(): T | undefined;
  run<Result>(store: T, fn: () => Result): Result;
}

/** What is called as promises are made, and as what waits for them runs. */
export interface PromiseHooks {
  /** The parent is the promise that the new one waits for. */
  init(promise: object, parent: object | undefined): void;
  before?(promise: object): void;
  after?(promise: object): void;
  settled?(promise: object): void;
}

/** A channel of Node's `diagnostics_channel`. */
export interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

export interface Platform {
  createStore?: (<T>() => ContextStore<T>) | undefined;
  /** The function that is returned takes the hooks away. */
  hookPromises?: ((hooks: PromiseHooks) => () => void) | undefined;
  channel?: ((name: string) => Channel) | undefined;
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
  (name: string): Channel => {
    const channel = channels.channel(name);
    return {
      get hasSubscribers() {
        return channels.hasSubscribers(name);
      },
      publish: (message) => channel.publish(message),
    };
  };

/** A module of the runtime, where it lets one ask without importing: an import would break the others. */
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

/** The one that was set, or what can be found without an import. */
export function platform(): Platform {
  current ??= platformHere();
  return current;
}

/** Called before anything is watched. */
export function usePlatform(platform: Platform): void {
  current = platform;
}
