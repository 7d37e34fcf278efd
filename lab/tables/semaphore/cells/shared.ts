/**
 * A semaphore of 1 that the requests of one worker share, held over `scheduler.wait(3)` while 20 requests arrive at
 * once. A runtime that lets no request act for another answers a request whose waiter it considers hung with HTTP 500
 * within moments; an answered request has waited and had its turn.
 *
 * A subject that can limit its wait does so, by 10 seconds: with an option of its own, or else with
 * AbortSignal.timeout if it accepts a signal.
 */
import type { Cell } from '../../../harness/table.js';
import type { PermitForm } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { type Compatibility, serve } from '../worker/workerd.js';

const requests = 20;
const compatibility: Compatibility = { date: '2026-01-01', flags: ['nodejs_compat'] };

export const sharedCell: Cell = {
  id: 'shared',
  subjects: subjects
    .filter((subject) => subject.role !== 'floor' && subject.permits)
    .map((subject) => subject.name),
  expectedMilliseconds: 600,
  async measure(name) {
    const { permits } = subjectNamed(name);
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
      return {
        ok: true,
        note: howItWaits(permits),
        samples: { answered: [answered] },
      };
    } finally {
      await server.stop();
    }
  },
};

function howItWaits(form: PermitForm | undefined): string {
  if (form?.createWithTimeout ?? form?.acquireWithTimeout) return 'with its own time limit of 10 s';
  if (form?.acquireWithSignal) return 'with AbortSignal.timeout of 10 s';
  return 'it cannot limit its wait';
}
