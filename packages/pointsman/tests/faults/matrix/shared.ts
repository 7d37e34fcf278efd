/** The faults of the primitives beside the mutex, on both stores. */
import type { Fault } from '../fault.js';
import type { Primitive, Setting } from '../subjects/subject.js';
import { administeredServer } from './administered-server.js';
import { closingLeader } from './closing-leader.js';
import { failedOverServer } from './failed-over-server.js';
import { killedHolder } from './killed-holder.js';
import { mayhem } from './mayhem.js';
import { none } from './none.js';
import { restartedServer } from './restarted-server.js';
import { stoppedHolder } from './stopped-holder.js';
import { stoppedServer } from './stopped-server.js';

type Handlers = readonly Setting['handler'][];

const ofProcesses = [none, mayhem, killedHolder, stoppedHolder];
const ofServers = [stoppedServer, restartedServer, failedOverServer, administeredServer];

function faultsOf(primitive: Primitive, letter: string): readonly Fault[] {
  const on = (faults: readonly Fault[], prefix: string, handlers: Handlers) =>
    faults.map(({ full, short, ...fault }, index) => {
      // Without the script there are too few sections.
      const trials = fault.name === mayhem.name ? handlers.slice(0, 1) : handlers;
      return {
        ...fault,
        primitive,
        number: `${prefix}${index + 1}`,
        full: { ...full, trials },
        short: { ...short, trials },
      };
    });
  return [
    ...on([...ofProcesses, ...ofServers], letter, ['script', 'pure']),
    ...on(ofProcesses, `${letter}h`, ['host']),
  ];
}

export const rwlockMatrix = faultsOf('rwlock', 'w');
export const semaphoreMatrix = faultsOf('semaphore', 's');
export const leaderMatrix: readonly Fault[] = [
  ...faultsOf('leader', 'l'),
  { ...closingLeader, number: 'l9' },
];

export const millionMatrix: readonly Fault[] = [
  ...rwlockMatrix,
  ...semaphoreMatrix,
  ...leaderMatrix,
].filter(({ name }) => name === mayhem.name);
