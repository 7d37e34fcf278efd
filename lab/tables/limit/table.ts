/**
 * The table `limit`: limiters of several processes on a Redis server. No document has published these figures: decisions
 * on one key that all requests share and on many keys, and what each limiter lets through above its limit.
 */
import { onOneServer } from '../../harness/redis-server.js';
import type { Row } from '../../harness/table.js';
import { aboveCell, aboveColumns } from './cells/above.js';
import { inFlight, nameOf, rateCell, type Setting, settings } from './cells/rates.js';
import { subjects } from './subjects/index.js';
import { rule } from './workloads/trace.js';

function rowsOf(setting: Setting): Row[] {
  const { keys, processes, isLeased } = setting;
  const cell = nameOf(setting);
  const who = processes === 1 ? 'One process' : `${processes} processes`;
  const of =
    keys === 1 ? 'for one key' : `for ${keys.toLocaleString('en-US')} keys, drawn at random`;
  const whose = processes === 1 ? 'in flight' : 'in flight together';
  return [
    {
      row: cell,
      cell,
      measure: 'perSecond',
      processorTime: 'processor time',
      unit: 'decisions/s',
      better: 'higher',
      about: `${who} with ${inFlight} requests ${whose}, ${of}, all far below the limit${isLeased ? ': ours with a lease, beside the fastest peers' : ''}.`,
    },
    {
      row: `${cell}, p99`,
      cell,
      measure: 'p99',
      unit: 'ms',
      better: 'lower',
      about: 'One decision in a hundred of these takes longer.',
    },
  ];
}

const table = onOneServer({
  table: 'limit',
  title: 'Rate limits on Redis',
  headline: {
    ours: "Pointsman's shared limiter",
    where: `in decisions on one key with ${inFlight} requests in flight`,
    beside: ['one hot key, 1 process, leased'],
    work: 'rate limits on Redis, one hot key',
  },
  headlineCells: 2,
  subjects,
  cells: [...settings.map(rateCell), aboveCell],
  rows: settings.flatMap(rowsOf),
  behaviours: [
    {
      title: 'Let through above the limit',
      cell: aboveCell.id,
      about: `Starts in a sliding window that was already full, with a limit of ${rule.limit} in ${rule.per / 1_000} s, in twice the same requests: one alone; 0.9 s later, more than the limit for 1.15 s.`,
      columns: aboveColumns,
    },
  ],
  tools: ['ioredis'],
});

export default table;
