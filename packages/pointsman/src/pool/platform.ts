/** What differs between runtimes: what a thread may know of itself, and what of those it starts. */

import type { Port } from '../transport/platform.js';

export interface PoolWorker extends Port {
  terminate(): unknown;
}

/** Milliseconds by which the event loop's turns came late. */
export interface Delay {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

export interface PoolPlatform {
  /** As many threads as can run at a time. */
  readonly cores: number;
  /** Whether messages can be received, in order, without a return to the event loop. */
  readonly canPoll: boolean;
  /** Measures this thread's event loop until `stop`. */
  watchEventLoop?(): { read(): Delay; stop(): void };
  /** Makes this thread less urgent. */
  setPriority?(nice: number): void;
  /** Bytes of this thread's heap that are in use. */
  heapUsed?(): number;
  /** Errors of this thread that nobody has caught; they do not end it then. */
  onUncaught(listener: (error: unknown) => void): void;
  /** This thread is about to end by itself. */
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
    // It goes on until its turn of the event loop is over, and may be cut off before.
    scope.close = () => {
      listener();
      close?.call(scope);
    };
  },
  onUncaught(listener) {
    const scope = globalThis as unknown as EventTarget;
    const heard = (event: Event) => {
      event.preventDefault();
      const { error, reason, message } = event as unknown as Record<string, unknown>;
      listener(error ?? reason ?? new Error(String(message)));
    };
    scope.addEventListener('error', heard);
    scope.addEventListener('unhandledrejection', heard);
  },
};

export let poolPlatform = web;

export function usePoolPlatform(other: PoolPlatform): void {
  poolPlatform = other;
}
