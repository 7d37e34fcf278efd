/**
 * The differences between runtimes: how a worker reaches its host, and whether a thread can receive messages without
 * returning to its event loop.
 *
 * Invariant: the entry of a runtime sets the platform when the entry is loaded, before any bridge or pool is created;
 * the platform never changes afterwards.
 */

/** A port, a worker or the global scope of a worker, with events of the web or of Node. */
export interface Port {
  postMessage(message: unknown, transfer?: never): unknown;
  addEventListener?(type: string, listener: (event: never) => void): void;
  removeEventListener?(type: string, listener: (event: never) => void): void;
  on?(type: string, listener: (value: never) => void): unknown;
  off?(type: string, listener: (value: never) => void): unknown;
  start?(): void;
  ref?(): void;
  unref?(): void;
  close?(): void;
  /** Only a worker has it. */
  terminate?(): void;
}

export interface Platform {
  /** The port to the host; undefined in the main thread. */
  readonly host: Port | undefined;
  /** Whether the transfer of a buffer takes constant time. */
  readonly movesBytes: boolean;
  /** Whether the runtime reads each element of a received view, which is slow. */
  readonly readsEachElement: boolean;
  /** Returns the next message of a port without a return to the event loop; absent where that is impossible. */
  readonly receive?: (port: Port) => { message: unknown } | undefined;
  /** Captures the async context of the caller; absent where there is none. */
  readonly captureContext?: () => <Result>(work: () => Result) => Result;
}

const scope = globalThis as unknown as Port & { document?: unknown };

const web: Platform = {
  host: typeof scope.postMessage === 'function' && scope.document === undefined ? scope : undefined,
  movesBytes: true,
  readsEachElement: false,
};

export let platform = web;

export function usePlatform(other: Platform): void {
  platform = other;
}

/** Listens for messages, for the end of the sender, and for messages that cannot be read. Returns a function that stops. */
export function listen(
  endpoint: Port,
  listener: (message: unknown) => void,
  closed: () => void = () => {},
  unreadable: (cause: unknown) => void = () => {},
): () => void {
  // Preferred to `addEventListener`, which in Node wraps each message in an event.
  if (endpoint.on && endpoint.off) {
    endpoint.on('message', listener);
    endpoint.on('close', closed);
    endpoint.on('messageerror', unreadable);
    return () => {
      endpoint.off?.('messageerror', unreadable);
      endpoint.off?.('message', listener);
      endpoint.off?.('close', closed);
    };
  }
  const unwrap = (event: { data: unknown }) => listener(event.data);
  endpoint.addEventListener?.('message', unwrap);
  endpoint.addEventListener?.('close', closed);
  const unwrapCause = (event: { data: unknown }) => unreadable(event.data);
  endpoint.addEventListener?.('messageerror', unwrapCause);
  endpoint.start?.();
  return () => {
    endpoint.removeEventListener?.('messageerror', unwrapCause);
    endpoint.removeEventListener?.('message', unwrap);
    endpoint.removeEventListener?.('close', closed);
  };
}
