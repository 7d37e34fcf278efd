/** The size of this process's heap after garbage collection, in Node. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns bytes. Collects several times, because finalizers and settled promises free more. */
export async function heapInUse(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let turn = 0; turn < 5; turn++) {
    await nextTurn();
    collect();
  }
  return process.memoryUsage().heapUsed;
}
