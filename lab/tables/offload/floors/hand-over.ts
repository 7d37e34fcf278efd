/**
 * Sends a number to a thread and back, both asleep while they wait: the floor of the table `bridge`, measured in the
 * same way. It is a round trip between two workers, so it does not wake a main thread.
 */
import type { Subject } from '../../../harness/table.js';
import type { LoopOrder } from '../workloads/closed-loop.js';

export const handOver: Subject = {
  name: 'two workers, Atomics.wait',
  role: 'floor',
  note: 'A number to another worker and back, one at a time; both sleep while they wait.',
};

/** Round trips per second. */
export async function measureHandOver(order: LoopOrder): Promise<readonly number[]> {
  const [{ default: floor }, { Session }, { nodeGround }] = await Promise.all([
    import('../../bridge/floors/sleeping-ping-pong.js'),
    import('../../bridge/host/session.js'),
    import('../../bridge/node/ground.js'),
  ]);
  const session = await Session.open(floor, nodeGround(floor.name));
  try {
    const { samples } = await session.run({ work: 'call', group: 1, ...order });
    return samples.call ?? [];
  } finally {
    session.close();
  }
}
