/**
 * The worker's side of a session: connects the subject, then executes orders.
 *
 * Orders and answers use a channel of their own, so that the worker's own messages belong to the subject alone.
 */
import type { BridgeSubject, Part, WorkerPlace } from '../subject.js';
import { type Answer, failure, type Order } from './order.js';
import { perform } from './perform.js';

export async function obey(
  subject: BridgeSubject,
  place: WorkerPlace,
  { part, channel: name }: { readonly part: Part; readonly channel: string },
): Promise<void> {
  const channel = new BroadcastChannel(name);
  const answer = (answered: Answer) => channel.postMessage(answered);
  try {
    if (part === 'echo') {
      await subject.echo?.(place);
      return;
    }
    const caller = await subject.connect?.(place);
    if (!caller) throw new Error('this subject makes no calls in a worker');
    const carryOut = async (order: Order) => {
      try {
        answer({ found: await perform(order, caller, subject.wholeNumbers === true) });
      } catch (error) {
        answer(failure(error));
      }
    };
    channel.onmessage = (event) => carryOut((event as MessageEvent<Order>).data);
    answer({ ready: true });
  } catch (error) {
    answer(failure(error));
  }
}
