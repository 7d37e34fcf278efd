/** The same work on the main thread alone, which a pool must beat. */
import type { Subject } from '../../../harness/table.js';
import { spin } from '../tasks/functions.js';

export const mainThreadAlone: Subject = {
  name: 'main thread alone',
  role: 'floor',
  note: 'The main thread does one task after the other. If a pool is slower, such tasks are not worth offloading.',
};

/** Tasks per second. */
export function measureMainThread(turns: number, milliseconds: number): number {
  spin(turns);
  const startedAt = performance.now();
  let done = 0;
  do {
    spin(turns);
    done += 1;
  } while (performance.now() - startedAt < milliseconds);
  return (1_000 * done) / (performance.now() - startedAt);
}
