/** Tasks that carry a payload there and back, on a thread for each core. */
import { availableParallelism } from 'node:os';
import { processorTimeOf } from '../../../harness/sample.js';
import type { MeasuredCell, Row } from '../../../harness/table.js';
import { barePostMessage, bestPools, namesOf, poolNamed } from '../subjects/index.js';
import { isLoopWanted, serveLoops } from '../workloads/closed-loop.js';
import { type Payload, payloads } from '../workloads/lanes.js';

const kinds = Object.entries(payloads);

export const payloadCells: readonly MeasuredCell[] = kinds.map(([kind, ofKind]) => ({
  id: `tasks with ${kind}`,
  subjects: namesOf(bestPools),
  sliceMilliseconds: 40,
  expectedMilliseconds: 1_000,
  async measure(name, lab) {
    const pool = await poolNamed(name).open({ threads: availableParallelism() });
    const loops = Object.entries(ofKind)
      .filter(([measure]) => isLoopWanted(lab, measure))
      .map(([measure, { inFlight, lane }]) => {
        const lanes = Array.from({ length: inFlight }, () => lane(pool));
        return { measure, condition: 'quiet', lanes } as const;
      });
    await serveLoops(loops, lab);
    return { ok: true, samples: {} };
  },
}));

export const payloadRows: readonly Row[] = kinds.flatMap(([kind, ofKind]) =>
  Object.entries(ofKind).map(([measure, payload]) => rowOf(kind, measure, payload)),
);

function rowOf(kind: string, measure: string, { inFlight }: Payload): Row {
  return {
    row: `${measure}, there and back`,
    cell: `tasks with ${kind}`,
    measure,
    processorTime: processorTimeOf(measure),
    unit: 'tasks/s',
    better: 'higher',
    floor: barePostMessage.name,
    about: `A task receives ${measure} and returns it; ${inFlight} in flight, on a thread per core.`,
    matrix: {
      title: 'Tasks that carry something there and back',
      block: 'tasks/s, all cores, quiet',
      column: `${measure}; ${inFlight} in flight`,
    },
  };
}
