/**
 * A semaphore of 1 that the requests of one worker share. 20 requests arrive at once, and each holds it over
 * `scheduler.wait(3)`. A runtime in which one request cannot resume another may consider a waiting request hung and
 * answer it with HTTP 500. An answer of 200 means that the request has waited and had its turn.
 *
 * A subject that can limit its wait does so, by 10 seconds: with an option of its own, or else with
 * AbortSignal.timeout if it accepts a signal.
 */
import type { Behaviours, MeasuredCell } from '../../../harness/table.js';
import type { PermitForm } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { type Compatibility, serve } from '../worker/workerd.js';

const requests = 20;
const compatibility: Compatibility = { date: '2026-01-01', flags: ['nodejs_compat'] };
const column = `of ${requests} requests at once`;

export const sharedCell: MeasuredCell = {
  id: 'shared',
  subjects: subjects
    .filter((subject) => subject.role !== 'floor' && subject.permits)
    .map((subject) => subject.name),
  async measure(name) {
    const server = await serve('shared', name, compatibility);
    try {
      const answers = await Promise.all(
        Array.from({ length: requests }, async () => {
          const response = await fetch(server.url);
          await response.arrayBuffer();
          return response.status;
        }),
      );
      const answered = answers.filter((status) => status === 200).length;
      const words = `answers ${answered}, ${howItWaits(subjectNamed(name).permits)}`;
      const behaviours = { [column]: { words, sound: answered === requests } };
      return { ok: true, samples: {}, behaviours };
    } finally {
      await server.stop();
    }
  },
};

export const sharedBehaviours: Behaviours = {
  title: 'Shared between requests in workerd',
  cell: sharedCell.id,
  about:
    'A semaphore of 1 that all requests of a worker share, held for 3 ms by each of 20 that arrive at once. The runtime must not consider a waiting request hung.',
  columns: [column],
};

function howItWaits(form: PermitForm | undefined): string {
  if (form?.createWithTimeout ?? form?.acquireWithTimeout) return 'with its own time limit of 10 s';
  if (form?.acquireWithSignal) return 'with AbortSignal.timeout of 10 s';
  return 'without a time limit, as it has none';
}
