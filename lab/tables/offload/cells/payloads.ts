/** Tasks that carry something there and back, on one thread. */
import type { Cell } from '../../../harness/table.js';
import { poolNamed, pools } from '../subjects/index.js';
import { closedLoop } from '../workloads/closed-loop.js';
import { payloads } from '../workloads/lanes.js';
import { withPool } from './with-pool.js';

export const payloadsCell: Cell = {
  id: 'payloads',
  subjects: pools.map(({ name }) => name),
  expectedMilliseconds: 2_500,
  onlyAskedFor: true,
  async measure(name, { warmupMilliseconds, measureMilliseconds }) {
    const samples: Record<string, readonly number[]> = {};
    await withPool(poolNamed(name), { threads: 1 }, async (pool) => {
      for (const [payload, { inFlight, lane }] of Object.entries(payloads)) {
        const lanes = Array.from({ length: inFlight }, () => lane(pool));
        samples[payload] = await closedLoop(lanes, {
          warmUpMilliseconds: warmupMilliseconds * 3,
          samples: 4,
          sampleMilliseconds: measureMilliseconds / 4,
        });
      }
    });
    return { ok: true, samples };
  },
};
