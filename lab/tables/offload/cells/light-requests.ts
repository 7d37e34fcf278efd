/**
 * Light requests to a server that hashes passwords: their latency, and the number of passwords hashed meanwhile, on
 * an otherwise idle machine and beside other programs that keep every core busy.
 *
 * Threads with a lower priority give way to every other program, not only to the server's main thread, so on a busy
 * machine they hash little. The other programs run in the server's session, as in a container, because the system does
 * not compare priorities across sessions. They are stopped between the slices.
 */
import { quantile } from 'simple-statistics';
import { begin } from '../../../harness/condition.js';
import type { MeasuredCell, Row, Slice } from '../../../harness/table.js';
import { runAb } from '../server/ab.js';
import { async, hashBytes, sync } from '../server/hashing.js';
import { pingDuring } from '../server/ping.js';
import { withServer } from '../server/with-server.js';
import { namesOf, politePools } from '../subjects/index.js';
import piscina from '../subjects/piscina.js';
import pointsman from '../subjects/pointsman.js';

/** A quarter of the document's work, so that a slice is short. */
const cost = 8;
const situations = ['quiet', 'beside other programs'] as const;
/** Half as many requests beside other programs, which take half of the processor time. */
const loads = {
  quiet: { requests: 40, concurrency: 20, bytes: hashBytes },
  'beside other programs': { requests: 20, concurrency: 20, bytes: hashBytes },
};

export const lightCell: MeasuredCell = {
  id: 'light requests',
  // The other pools would only repeat this, with threads of the same priority.
  subjects: namesOf([sync, async, pointsman, piscina, ...politePools]),
  sliceMilliseconds: 500,
  expectedMilliseconds: 1_500,
  measure: (name, lab) =>
    withServer(name, cost, async ({ hashUrl, pingUrl }) => {
      const busy = await begin('all cores busy', 'shared');
      const signal = (word: NodeJS.Signals) => {
        for (const id of busy.processes) process.kill(id, word);
      };
      signal('SIGSTOP');
      const wanted = situations.filter((situation) =>
        ['hashes', 'median', '90th percentile'].some((found) =>
          lab.isWanted(`${found}, ${situation}`),
        ),
      );
      const slices = wanted.map(
        (situation): Slice => ({
          name: situation,
          async run() {
            if (situation !== 'quiet') signal('SIGCONT');
            const hashed = runAb(hashUrl, loads[situation]);
            const pings = await pingDuring(pingUrl, hashed);
            const report = await hashed;
            signal('SIGSTOP');
            return {
              [`hashes, ${situation}`]: report['Requests per second'],
              [`median, ${situation}`]: quantile(pings, 0.5),
              [`90th percentile, ${situation}`]: quantile(pings, 0.9),
            };
          },
        }),
      );
      await runAb(hashUrl, loads.quiet);
      await lab.serve(slices);
      await busy.end();
      return {};
    }),
};

const about =
  'A server hashes 20 passwords at a time. Meanwhile /ping is requested every 10 ms, and timed from the moment at which it was due.';

export const lightRows: readonly Row[] = situations.flatMap((situation) => [
  ...(['median', '90th percentile'] as const).map(
    (column): Row => ({
      row: `a light request while passwords are hashed, ${column}, ${situation}`,
      cell: lightCell.id,
      measure: `${column}, ${situation}`,
      unit: 'ms',
      better: 'lower',
      about,
      matrix: {
        title: 'Light requests while passwords are hashed',
        block: `a light request, ms, ${situation}`,
        column,
      },
    }),
  ),
  ...(situation === 'quiet'
    ? []
    : [
        {
          row: `passwords hashed, ${situation}`,
          cell: lightCell.id,
          measure: `hashes, ${situation}`,
          unit: '#/s',
          better: 'higher',
          about:
            'A server hashes 20 passwords at a time. Threads with a lower priority give way to the other programs too.',
        } as const,
      ]),
]);
