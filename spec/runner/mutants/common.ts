/** Mistakes in how an operation waits and gives up, which every primitive could make. */
import { ModelError } from '../models/waiting.js';
import type { Mutants } from './mutant.js';

/** The files in which somebody gives up; in the last two nobody may go on at once. */
const givingUp = ['lock-all', 'rwlock', 'notify', 'latch', 'channel', 'broadcast', 'watch'].map(
  (name) => `${name}/giving-up.yaml`,
);
const everywhere = [...givingUp, 'condition/giving-up.yaml', 'barrier/giving-up.yaml'];

export const commonMutants: Mutants = {
  'loses the grant when the abort comes right after it': {
    fails: [
      'semaphore/race.yaml',
      'mutex/giving-up.yaml',
      'keyed-semaphore/giving-up.yaml',
      ...everywhere,
    ],
    async around(request, proceed) {
      const answer = await proceed(request);
      request.signal?.throwIfAborted();
      return answer;
    },
  },
  'waits although it was aborted before': {
    fails: [
      'semaphore/abort.yaml',
      'mutex/giving-up.yaml',
      'keyed-semaphore/giving-up.yaml',
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
  'rejects with an error of its own instead of the reason of the signal': {
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
      'mutex/giving-up.yaml',
      ...everywhere,
    ],
    around: ({ timeout, ...request }, proceed) => proceed(request),
  },
  'takes a timeout of 0 for none': {
    fails: ['semaphore/timeout.yaml', 'semaphore/drain.yaml', ...givingUp],
    around: ({ timeout, ...request }, proceed) =>
      proceed(timeout ? { ...request, timeout } : request),
  },
  'refuses a timeout of 0 even when it could be granted at once': {
    fails: ['semaphore/timeout.yaml', ...givingUp],
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
