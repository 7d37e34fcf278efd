/** The differences between runtimes that concern only the pool. */

import type { Port } from '../transport/platform.js';

export interface PoolWorker extends Port {
  terminate(): unknown;
}

/** The delay of an event loop, in milliseconds. */
export interface Delay {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

export interface PoolPlatform {
  /** The number of threads that can run in parallel. */
  readonly cores: number;
  /** Whether messages can be received in order without returning to the event loop. */
  readonly canPoll: boolean;
  /** Measures the delay of this thread's event loop until `stop`. */
  watchEventLoop?(): { read(): Delay; stop(): void };
  /** Sets the nice value of this thread. */
  setPriority?(nice: number): void;
  /** Returns the bytes in use on this thread's heap. */
  heapUsed?(): number;
  /** Calls the listener with each uncaught error of this thread, which then does not end the thread. */
  onUncaught(listener: (error: unknown) => void): void;
  /** Calls the listener when this thread is about to exit. */
  onExit(listener: () => void): void;
}

const web: PoolPlatform = {
  cores: globalThis.navigator?.hardwareConcurrency ?? 1,
  canPoll: false,
  heapUsed: () =>
    (performance as { memory?: { usedJSHeapSize: number } }).memory?.usedJSHeapSize ?? 0,
  onExit(listener) {
    const scope = globalThis as { close?(): void };
    const { close } = scope;
    // `close` lets the current turn finish, but messages posted later may be lost.
    scope.close = () => {
      listener();
      close?.call(scope);
    };
  },
  onUncaught(listener) {
    const scope = globalThis as unknown as EventTarget;
    const handle = (event: Event) => {
      event.preventDefault();
      const { error, reason, message } = event as unknown as Record<string, unknown>;
      listener(error ?? reason ?? new Error(String(message)));
    };
    scope.addEventListener('error', handle);
    scope.addEventListener('unhandledrejection', handle);
  },
};

export let poolPlatform = web;

export function usePoolPlatform(other: PoolPlatform): void {
  poolPlatform = other;
}
