/** Mistakes in waiting and cancellation, which every primitive could make. */
import { ModelError } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

/** The files about cancellation; in the last two no operation can be granted at once. */
const cancellation = ['lock-all', 'rwlock', 'notify', 'latch', 'channel', 'broadcast', 'watch'].map(
  (name) => `${name}/cancellation.yaml`,
);
const everywhere = [...cancellation, 'condition/cancellation.yaml', 'barrier/cancellation.yaml'];

export const commonMutants: Mutants = {
  'loses the grant when the abort comes right after it': {
    fails: [
      'semaphore/race.yaml',
      'mutex/cancellation.yaml',
      'keyed-semaphore/cancellation.yaml',
      ...everywhere,
    ],
    async around(request, proceed) {
      const answer = await proceed(request);
      request.signal?.throwIfAborted();
      return answer;
    },
  },
  'waits although it was aborted before it began': {
    fails: [
      'semaphore/abort.yaml',
      'mutex/cancellation.yaml',
      'keyed-semaphore/cancellation.yaml',
      ...everywhere,
    ],
    around: (request, proceed) => {
      const { signal } = request.signal?.aborted ? new AbortController() : request;
      return proceed({ ...request, signal });
    },
  },
  'cannot be aborted': {
    fails: ['semaphore/abort.yaml', 'semaphore/drain.yaml', 'mutex/closing.yaml', ...everywhere],
    around: ({ signal, ...request }, proceed) => {
      signal?.throwIfAborted();
      return proceed(request);
    },
  },
  'rejects with an error other than the reason of the signal': {
    fails: ['semaphore/abort.yaml'],
    async around(request, proceed) {
      try {
        return await proceed(request);
      } catch (error) {
        throw error instanceof ModelError ? error : new ModelError('aborted');
      }
    },
  },
  'never times out': {
    fails: [
      'semaphore/timeout.yaml',
      'semaphore/drain.yaml',
      'mutex/cancellation.yaml',
      ...everywhere,
    ],
    around: ({ timeout, ...request }, proceed) => proceed(request),
  },
  'treats a timeout of 0 as none': {
    fails: ['semaphore/timeout.yaml', 'semaphore/drain.yaml', ...cancellation],
    around: ({ timeout, ...request }, proceed) =>
      proceed(timeout ? { ...request, timeout } : request),
  },
  'refuses a timeout of 0 even when it could be granted at once': {
    fails: ['semaphore/timeout.yaml', ...cancellation],
    around: (request, proceed) => {
      if (request.timeout === 0) throw new ModelError('timeout');
      return proceed(request);
    },
  },
  'leaves a listener on the signal after a grant': {
    fails: [
      'semaphore/exclusion.yaml',
      'mutex/exclusion.yaml',
      'keyed-mutex/keys.yaml',
      ...everywhere,
    ],
    around: (request, proceed) => {
      request.signal?.addEventListener('abort', () => {});
      return proceed(request);
    },
  },
};
