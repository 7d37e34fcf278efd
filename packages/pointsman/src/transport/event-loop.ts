/**
 * A later turn of the event loop, at once: a timer of 0 takes milliseconds.
 *
 * Invariant: callbacks run in the order in which they were given, and none in the turn that gave it.
 */

const scope = globalThis as { setImmediate?: (callback: () => void) => unknown };
let turns: MessagePort | undefined;
let waiting: (() => void)[] = [];

/** Runs `callback` in a later turn of the event loop, after what the runtime has to do before. */
export function soon(callback: () => void): void {
  if (scope.setImmediate) {
    scope.setImmediate(callback);
    return;
  }
  if (turns === undefined) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      const now = waiting;
      waiting = [];
      for (const one of now) one();
    };
    turns = port2;
  }
  waiting.push(callback);
  turns.postMessage(0);
}
