import { defineSubject } from '../subject.js';

type Release = () => void;

interface AwaitSemaphore {
  readonly Semaphore: new (
    limit: number,
  ) => {
    acquire(): Promise<Release>;
    use<T>(thunk: () => Promise<T>): Promise<T>;
  };
}

export default defineSubject({
  name: 'await-semaphore',
  role: 'peer',
  package: 'await-semaphore',
  // Its types are its source, which this project's compiler settings reject.
  load: (): Promise<AwaitSemaphore> => import('await-semaphore' as string),
  permits: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    acquire: (semaphore) => semaphore.acquire(),
    release: (_, release) => release(),
  },
  run: {
    create: ({ Semaphore }, limit) => new Semaphore(limit),
    run: (semaphore, work) => semaphore.use(work),
  },
});
