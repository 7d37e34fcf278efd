/** Tasks that carry a payload there and back, on a thread for each core, in each condition. */
import { availableParallelism } from 'node:os';
import { begin, type Condition, conditions } from '../../../harness/condition.js';
import type { Cell } from '../../../harness/table.js';
import { bestPools, poolNamed } from '../subjects/index.js';
import { closedLoop } from '../workloads/closed-loop.js';
import { payloads } from '../workloads/lanes.js';
import { samplesOf } from '../workloads/throughput.js';
import { withPool } from './with-pool.js';

export function payloadMeasure(payload: string, condition: Condition): string {
  return `${payload}, ${condition}`;
}

export const payloadCells: readonly Cell[] = Object.entries(payloads).map(([kind, ofKind]) => ({
  id: `tasks with ${kind}`,
  subjects: bestPools.map(({ name }) => name),
  expectedMilliseconds: 1_500,
  async measure(name, { warmupMilliseconds, measureMilliseconds }, isWanted) {
    const samples: Record<string, readonly number[]> = {};
    await withPool(poolNamed(name), { threads: availableParallelism() }, async (pool) => {
      for (const condition of conditions) {
        const running = await begin(condition);
        try {
          for (const [payload, { inFlight, lane }] of Object.entries(ofKind)) {
            const measure = payloadMeasure(payload, condition);
            if (!isWanted(measure)) continue;
            const lanes = Array.from({ length: inFlight }, () => lane(pool));
            const isFirst = Object.keys(samples).length === 0;
            const found = await closedLoop(lanes, {
              warmUpMilliseconds: warmupMilliseconds * (isFirst ? 2 : 0.5),
              samples: 3,
              sampleMilliseconds: measureMilliseconds / 4,
            });
            Object.assign(samples, samplesOf(measure, found));
          }
        } finally {
          await running.end();
        }
      }
    });
    return { ok: true, samples };
  },
}));
