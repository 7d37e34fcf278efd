/**
 * The host's functions in the soak. Every answer is computed from the number of its call, so an answer to another call
 * is detected at once.
 */

export interface Echo {
  readonly number: number;
  readonly bytes: Uint8Array;
}

type Callback = (value: number) => Promise<number>;

export class SoakError extends RangeError {
  readonly code = 'E_SOAK';
  readonly number: number;

  constructor(number: number) {
    super(`no ${number}`);
    this.number = number;
  }
}

/** `double` is the worker's function; the host calls it while the worker waits for the host. */
export function soakApi(double: (value: number) => Promise<number>) {
  let sent = 0;
  return {
    echo: ({ number, bytes }: Echo): Echo => ({ number: number + 1, bytes }),
    add: (number: number, other: number) => number + other,
    fail(number: number): never {
      throw new SoakError(number);
    },
    async failLater(number: number): Promise<never> {
      await undefined;
      throw new SoakError(number);
    },
    later: (number: number) =>
      new Promise<number>((resolve) => setImmediate(() => resolve(number + 2))),
    slow: (number: number) =>
      new Promise<number>((resolve) => setTimeout(() => resolve(number + 3), 4)),
    /** Ends only when the signal aborts. */
    untilAborted: (number: number, signal: AbortSignal) =>
      new Promise<number>((resolve) => {
        const end = () => resolve(number + 4);
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
      }),
    apply: async (callback: Callback, number: number) => (await callback(number)) + 5,
    nested: async (number: number) => (await double(number)) + 6,
    async *count(from: number, length: number) {
      for (let i = 0; i < length; i++) yield from + i;
    },
    note(): void {
      sent++;
    },
    /** Returns and resets the number of notes. */
    notes(): number {
      const count = sent;
      sent = 0;
      return count;
    },
  };
}

export type SoakApi = ReturnType<typeof soakApi>;

export interface Order {
  readonly seed: number;
  /** The worker's counter of calls, which the host watches. */
  readonly counter: Int32Array;
}

export const workerApi = { double: (value: number) => 2 * value };
export type WorkerApi = typeof workerApi;

/** Returns a generator of numbers in [0, 1). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
