import { defineSubject } from '../subject.js';

export default defineSubject({
  name: '@esfx/async-semaphore',
  role: 'peer',
  package: '@esfx/async-semaphore',
  note: 'An AbortSignal reaches it through CancelToken.from of @esfx/canceltoken.',
  load: async () => {
    const [{ AsyncSemaphore }, { CancelToken }] = await Promise.all([
      import('@esfx/async-semaphore'),
      import('@esfx/canceltoken'),
    ]);
    return { AsyncSemaphore, CancelToken };
  },
  permits: {
    create: ({ AsyncSemaphore }, limit) => new AsyncSemaphore(limit),
    acquire: (semaphore) => semaphore.wait(),
    release: (semaphore) => semaphore.release(),
    acquireWithSignal: (semaphore, signal, { CancelToken }) =>
      semaphore.wait(CancelToken.from(signal)),
  },
});
