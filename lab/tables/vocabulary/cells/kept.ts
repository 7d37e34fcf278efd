/** The memory that a keyed limiter keeps for each idle key. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Cell, Measurement } from '../../../harness/table.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { missingOf } from './in-process.js';

const mostKeys = 10_000;
const resolved = Promise.resolve();

async function measure(name: string): Promise<Measurement> {
  const subject = subjectNamed(name);
  const { keyed } = subject;
  if (keyed === undefined) throw new Error(`cell kept: ${name} has no keys`);
  const keys = keyed.most ?? mostKeys;
  const missing = missingOf(subject);
  if (missing) return missing;
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const limiter = keyed.create(await subject.load(), 1);
  const useAll = (word: string) =>
    Promise.all(
      Array.from({ length: keys }, (_, key) =>
        keyed.run(limiter, `${word} ${key}`, () => resolved),
      ),
    );
  const bytes = async () => {
    for (let turn = 0; turn < 5; turn++) {
      await nextTurn();
      collect();
    }
    return process.memoryUsage().heapUsed;
  };
  // Compiles the code, and grows memory that stays anyway.
  await useAll('warm-up');
  const before = await bytes();
  await useAll('key');
  // A ratio needs a number above 0.
  const kept = Math.max(1, ((await bytes()) - before) / keys);
  await keyed.run(limiter, 'key 0', () => resolved);
  return { ok: true, samples: { kept: [kept] } };
}

export const keptCell: Cell = {
  id: 'kept',
  subjects: subjects.filter(({ keyed }) => keyed && !keyed.limitsNothing).map(({ name }) => name),
  measure,
};
