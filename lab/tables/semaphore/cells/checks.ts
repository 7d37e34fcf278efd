/** The promises that every subject must keep before its speed counts, checked outside the timed part. */
import type { PermitForm, RunForm, Work } from '../subject.js';

/** Runs the work while holding a permit of the subject. */
export type Enter = (work: Work) => Promise<unknown>;

export function enterWithPermit(form: PermitForm, library: unknown, limit: number): Enter {
  const semaphore = form.create(library, limit);
  return (work) =>
    // A callback, because an await would restore the caller's context by itself.
    form.acquire(semaphore).then(async (permit) => {
      await work();
      form.release(semaphore, permit);
    });
}

export function enterWithRun(form: RunForm, library: unknown, limit: number): Enter {
  const runner = form.create(library, limit);
  return (work) => form.run(runner, work, library);
}

const tasks = 40;

/** Checks that exactly `limit` tasks run at a time, in order of arrival. */
export async function checkExclusion(enter: Enter, limit: number): Promise<void> {
  let inside = 0;
  let most = 0;
  const order: number[] = [];
  const all = Array.from({ length: tasks }, (_, index) =>
    enter(async () => {
      order.push(index);
      inside += 1;
      most = Math.max(most, inside);
      await undefined;
      await undefined;
      inside -= 1;
    }),
  );
  await Promise.all(all);
  if (order.length !== tasks) throw new Error(`let ${order.length} of ${tasks} tasks in`);
  if (most !== limit) throw new Error(`granted ${most} permits at once, expected ${limit}`);
  if (order.some((task, index) => task !== index)) throw new Error('granted permits out of order');
}
