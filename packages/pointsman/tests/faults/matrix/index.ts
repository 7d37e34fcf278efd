/** All faults, in the order of the report. */
import type { Fault } from '../fault.js';
import { administeredServer } from './administered-server.js';
import { blockedLoop } from './blocked-loop.js';
import { cancelStorm } from './cancel-storm.js';
import { clientClock } from './client-clock.js';
import { crowd } from './crowd.js';
import { delayedReplies } from './delayed-replies.js';
import { failedOverServer } from './failed-over-server.js';
import { killedHolder } from './killed-holder.js';
import { killedWaiters } from './killed-waiters.js';
import { lostConnections } from './lost-connections.js';
import { none } from './none.js';
import { restartedServer } from './restarted-server.js';
import { serverClock } from './server-clock.js';
import { stoppedHolder } from './stopped-holder.js';
import { stoppedServer } from './stopped-server.js';
import { stoppedWaiter } from './stopped-waiter.js';

export const matrix: readonly Fault[] = [
  none,
  killedHolder,
  killedWaiters,
  stoppedHolder,
  stoppedWaiter,
  delayedReplies,
  lostConnections,
  stoppedServer,
  restartedServer,
  failedOverServer,
  clientClock,
  serverClock,
  blockedLoop,
  administeredServer,
  cancelStorm,
  crowd,
];
