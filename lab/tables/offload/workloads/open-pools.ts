/**
 * The pools of a process: one for each condition and number of threads, because a pool may learn how long its threads
 * should wait. They end with the process.
 */
import type { Condition } from '../../../harness/condition.js';
import type { OpenPool, PoolSubject } from '../subject.js';

export function openPools(subject: PoolSubject) {
  const open = new Map<string, Promise<OpenPool>>();
  return (threads: number, condition: Condition): Promise<OpenPool> => {
    const key = `${threads}, ${condition}`;
    const pool = open.get(key) ?? subject.open({ threads });
    open.set(key, pool);
    return pool;
  };
}
