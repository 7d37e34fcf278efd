/** The memory of a queued function, and what a keyed limiter keeps for each idle key. */
import { heapInUse } from '../../../harness/heap.js';
import type { MeasuredCell } from '../../../harness/table.js';
import { expectCount } from '../../../harness/workload.js';
import type { KeyedForm, LimiterForm, VocabularySubject } from '../subject.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { missingOf } from './in-process.js';

const most = 10_000;
/** A smaller amount counts as this, because the heap's own changes are as large. */
const leastBytes = 10;
const resolved = Promise.resolve();

/** Returns a cell with samples in bytes, each measured by one call of `fill`. */
function memoryCell<Form>(
  id: string,
  form: (subject: VocabularySubject) => Form | undefined,
  fill: (form: Form, library: unknown) => Promise<number>,
): MeasuredCell {
  return {
    id,
    subjects: subjects.filter((subject) => form(subject)).map(({ name }) => name),
    whole: 'a heap is measured at rest, after all garbage is collected',
    expectedMilliseconds: 1_000,
    async measure(name) {
      const subject = subjectNamed(name);
      const used = form(subject);
      if (used === undefined)
        throw new Error(`cell ${id}: ${name} lacks a form or feature that it needs`);
      const missing = missingOf(subject);
      if (missing) return missing;
      const library = await subject.load();
      // Compiles the code, and allocates what the engine keeps.
      await fill(used, library);
      const bytes: number[] = [];
      while (bytes.length < 3) bytes.push(await fill(used, library));
      return { ok: true, samples: { bytes } };
    },
  };
}

/**
 * 10,000 functions behind one that has not ended, with the promises of `run`. The array that keeps the promises is
 * allocated before. Subjects that take long for each function are left out.
 */
export const queuedMemoryCell = memoryCell(
  'memory, queued',
  ({ limiter }) =>
    limiter?.rules.includes('concurrency') && !limiter.limitsNothing && !limiter.most
      ? limiter
      : undefined,
  async ({ create, run }: LimiterForm, library) => {
    const limiter = create(library, { concurrency: 1, rate: undefined });
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const first = run(limiter, () => held);
    let ran = 0;
    const work = async () => {
      ran += 1;
    };
    const queued = new Array<Promise<unknown>>(most);
    const before = await heapInUse();
    for (let index = 0; index < most; index++) queued[index] = run(limiter, work);
    const bytes = (await heapInUse()) - before;
    expectCount('functions that ran beside the first', ran, 0);
    finish();
    await first;
    await Promise.all(queued);
    expectCount('functions run', ran, most);
    return bytes / most;
  },
);

export const keptMemoryCell = memoryCell(
  'memory, kept',
  ({ keyed }) => (keyed?.limitsNothing ? undefined : keyed),
  async ({ create, run, most: keys = most }: KeyedForm, library) => {
    const limiter = create(library, 1);
    const useAll = (word: string) =>
      Promise.all(
        Array.from({ length: keys }, (_, key) => run(limiter, `${word} ${key}`, () => resolved)),
      );
    await useAll('warm-up');
    const before = await heapInUse();
    await useAll('key');
    const kept = Math.max(leastBytes, ((await heapInUse()) - before) / keys);
    await run(limiter, 'key 0', () => resolved);
    return kept;
  },
);
