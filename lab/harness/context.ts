import { AsyncLocalStorage } from 'node:async_hooks';

export const lostContext = "ran the work in another caller's AsyncLocalStorage context";

/**
 * Returns whether the work of each caller sees that caller's AsyncLocalStorage. Call it after measuring:
 * on Node 20 the first use of a store makes every later promise of the process slower.
 */
export async function keepsContext(
  enter: (work: () => Promise<void>) => Promise<unknown>,
): Promise<boolean> {
  const storage = new AsyncLocalStorage<number>();
  const seen: (number | undefined)[] = [];
  const callers = Array.from({ length: 3 }, (_, caller) =>
    storage.run(caller, () =>
      enter(async () => {
        seen.push(storage.getStore());
        await undefined;
      }),
    ),
  );
  await Promise.all(callers);
  return seen.length === callers.length && seen.every((store, caller) => store === caller);
}
