/** The faults of processes that are their own store: those of Redis that need no server or network, and of any process. */
import type { Fault } from '../fault.js';
import { blockedLoop } from './blocked-loop.js';
import { cancelStorm } from './cancel-storm.js';
import { clientClock } from './client-clock.js';
import { crowd } from './crowd.js';
import { killedHolder } from './killed-holder.js';
import { killedWaiters } from './killed-waiters.js';
import { mayhem } from './mayhem.js';
import { none } from './none.js';
import { stoppedHolder } from './stopped-holder.js';
import { stoppedWaiter } from './stopped-waiter.js';

const faults = [
  none,
  mayhem,
  killedHolder,
  killedWaiters,
  stoppedHolder,
  stoppedWaiter,
  clientClock,
  blockedLoop,
  cancelStorm,
  crowd,
];

export const hostMatrix: readonly Fault[] = faults.map(({ full, short, ...fault }, index) => ({
  ...fault,
  number: `h${index + 1}`,
  full: { ...full, trials: ['host'] },
  short: { ...short, trials: ['host'] },
}));
