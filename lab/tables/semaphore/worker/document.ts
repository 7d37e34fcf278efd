/**
 * The worker of the published document, reimplemented: each request creates a semaphore of 1 and issues 5,000 acquires
 * in one synchronous loop, each with a callback attached by `.then`; the callback counts itself and releases at once.
 * The answer is the count.
 */
import type { PermitForm } from '../subject.js';

const acquires = 5_000;

export function documentWorker(form: PermitForm | undefined, library: unknown) {
  return form ? { fetch: semaphoreHandler(form, library) } : { fetch: emptyHandler };
}

function semaphoreHandler(form: PermitForm, library: unknown) {
  const { acquire, open, asPublished } = form;
  const create = asPublished?.create ?? (() => form.create(library, 1));
  const release = asPublished?.release ?? form.release;

  return async (): Promise<Response> => {
    const semaphore = create(library);
    let count = 0;
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    for (let issued = 0; issued < acquires; issued++) {
      void acquire(semaphore).then((permit) => {
        count += 1;
        if (count === acquires) finish();
        release(semaphore, permit);
      });
    }
    open?.(semaphore, 1);
    await finished;
    return answer(count);
  };
}

async function emptyHandler(): Promise<Response> {
  return answer(acquires);
}

function answer(count: number): Response {
  return new Response(String(count), { status: count === acquires ? 200 : 500 });
}
