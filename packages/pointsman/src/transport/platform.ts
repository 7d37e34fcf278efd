/**
 * What differs between runtimes: how a worker reaches whoever made it, and whether messages can be
 * received while the thread does not return to its event loop.
 *
 * Invariant: a runtime's own entry sets it when it is loaded, before any bridge or pool is made, and nothing
 * changes it afterwards.
 */

/** A port, a worker or a worker's own global scope, whichever way it tells of messages. */
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
  /** Where a worker finds its host; undefined in a thread that nobody made. */
  readonly host: Port | undefined;
  /** Whether a message moves a buffer without looking at each byte. */
  readonly movesBytes: boolean;
  /** Whether a message that has come is looked through to the last element of its views, which takes long. */
  readonly readsEachElement: boolean;
  /** The next message of a port without a return to the event loop; absent where there is no such thing. */
  readonly receive?: (port: Port) => { message: unknown } | undefined;
  /** Captures the asynchronous context of the caller; absent on platforms without one. */
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

/**
 * Listens for messages, for the end of whoever sends them, and for messages that cannot be read; returns how
 * to stop.
 */
export function listen(
  endpoint: Port,
  listener: (message: unknown) => void,
  closed: () => void = () => {},
  unreadable: (cause: unknown) => void = () => {},
): () => void {
  // Not `addEventListener` where there is a choice: in Node it wraps each message in an event.
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
