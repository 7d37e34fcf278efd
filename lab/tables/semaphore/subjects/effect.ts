import { defineSubject } from '../subject.js';

export default defineSubject({
  name: 'effect',
  role: 'peer',
  package: 'effect',
  note: 'Each call is one Effect.runPromise, as code outside an effect makes it.',
  load: async () => {
    const [Effect, Semaphore] = await Promise.all([
      import('effect/Effect'),
      import('effect/Semaphore'),
    ]);
    return { Effect, Semaphore };
  },
  run: {
    create: ({ Semaphore }, limit) => Semaphore.makeUnsafe(limit),
    run: (semaphore, work, { Effect }) =>
      Effect.runPromise(semaphore.withPermit(Effect.promise(work))),
    runWithSignal: (semaphore, work, signal, { Effect }) =>
      Effect.runPromise(semaphore.withPermit(Effect.promise(work)), { signal }),
  },
});
