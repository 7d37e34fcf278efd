/**
 * Settled, for a primitive of one event loop: all microtasks have run, so every continuation that could run has run.
 * That is the case at the start of the next macrotask.
 */

// Taken before any test replaces the clock. A browser slows down its setTimeout, but not postTask, which WebKit
// does not have, nor its message channels; those of workerd cannot be used, because their messages overtake microtasks.
const { setImmediate, setTimeout, scheduler, document, MessageChannel } = globalThis as Partial<
  typeof globalThis
>;
const channel = document && MessageChannel && new MessageChannel();

export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (setImmediate) setImmediate(resolve);
    else if (scheduler?.postTask) scheduler.postTask(() => resolve());
    else if (channel) {
      channel.port1.addEventListener('message', () => resolve(), { once: true });
      channel.port1.start();
      channel.port2.postMessage(0);
    } else setTimeout?.(resolve, 0);
  });
}
