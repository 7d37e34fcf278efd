/**
 * Schedules a callback for the next turn of the event loop. A timer of 0 ms would take longer: browsers clamp it.
 *
 * Invariant: callbacks run in order, and never in the current turn.
 */

const scope = globalThis as { setImmediate?: (callback: () => void) => unknown };
let turns: MessagePort | undefined;
let waiting: (() => void)[] = [];

/** Runs `callback` in a later turn of the event loop. */
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
