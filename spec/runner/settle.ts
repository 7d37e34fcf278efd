/**
 * What "settled" means for a primitive inside one event loop: all microtasks have run, so every
 * continuation that could run has run. That is so at the start of the next macrotask.
 */

// Taken before any test replaces the clock. A browser slows down its setTimeout but not postTask;
// the message channel of workerd is of no use, because its messages overtake microtasks.
const { setImmediate, setTimeout, scheduler } = globalThis as Partial<typeof globalThis>;

export function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (setImmediate) setImmediate(resolve);
    else if (scheduler?.postTask) scheduler.postTask(() => resolve());
    else setTimeout?.(resolve, 0);
  });
}
