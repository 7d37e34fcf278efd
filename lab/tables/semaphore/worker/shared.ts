/**
 * A worker whose requests share one semaphore of 1, created when the module loads. The holder keeps it over a wait of
 * 3 ms, so concurrent requests wait for each other.
 */
import type { PermitForm } from '../subject.js';

/** Of the Workers runtime. */
declare const scheduler: { wait(milliseconds: number): Promise<void> };

const holdMilliseconds = 3;
const patienceMilliseconds = 10_000;

export function sharedWorker(form: PermitForm, library: unknown) {
  const semaphore =
    form.createWithTimeout?.(library, 1, patienceMilliseconds) ?? form.create(library, 1);
  let inside = 0;

  async function acquire(): Promise<unknown> {
    if (form.acquireWithTimeout) return form.acquireWithTimeout(semaphore, patienceMilliseconds);
    if (form.acquireWithSignal) {
      return form.acquireWithSignal(semaphore, AbortSignal.timeout(patienceMilliseconds));
    }
    return form.acquire(semaphore);
  }

  return {
    async fetch(): Promise<Response> {
      const permit = await acquire();
      inside += 1;
      const most = inside;
      await scheduler.wait(holdMilliseconds);
      inside -= 1;
      form.release(semaphore, permit);
      return new Response(String(most), { status: most === 1 ? 200 : 500 });
    },
  };
}
