import { connectIoredis } from '../../../harness/redis-clients.js';
import { defineSubject } from '../subject.js';
import { Queue } from './queue.js';

/** The reply of the server is empty: it neither locks nor looks up anything. */
export default defineSubject({
  name: 'a PING per hand-over',
  role: 'floor',
  note: 'The same queue with a PING to the server at each hand-over, and one more for a turn that did not wait: the floor of a lock that hands over through the server.',
  async connect(address) {
    const redis = await connectIoredis(address);
    const queue = new Queue();
    return {
      async lock() {
        if (!(await queue.enter())) await redis.ping();
      },
      async unlock() {
        await redis.ping();
        queue.leave();
      },
      close: async () => redis.disconnect(),
    };
  },
});
