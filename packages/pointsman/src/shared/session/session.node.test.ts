/** Replies and messages of a session that overtake each other. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { Acquisition } from '../acquisition.js';
import { Metrics } from '../metrics.js';
import type { Batch, Reply, Result } from '../protocol/protocol.js';
import { signMessage } from '../protocol/wire.js';
import type { Link } from '../store.js';
import { StrictQueue } from '../strict.js';
import { Session } from './session.js';

test('a reply that a grant has overtaken does not put the lock in doubt', async () => {
  const ttl = 60_000;
  let continuity = 0;
  const sent: { batch: Batch; answer(...results: Result[]): void }[] = [];
  const link: Pick<Link, 'exchange' | 'listen' | 'continuity' | 'close'> = {
    listen: async () => {},
    continuity: () => continuity,
    close: async () => {},
    exchange: (batch: Batch) =>
      new Promise<Reply>((resolve) => {
        const answer = (...results: Result[]) =>
          resolve({ name: 'done', left: ttl, time: 1, results, grants: [] });
        sent.push({ batch, answer });
      }),
  };
  const store = { ttl, connect: () => link as Link };
  const session = new Session(store, 'p', new Metrics(), '');
  session.resume('run');
  const granted = vi.fn();
  const queue = new StrictQueue(session);
  const acquisition = new Acquisition(queue, new Metrics(), ['k'], {}, granted);
  queue.enter(acquisition);
  await expect.poll(() => sent.length).toBe(1);
  const renewed = session.renew();
  await expect.poll(() => sent.length).toBe(2);
  onTestFinished(async () => {
    const closed = session.close();
    await expect.poll(() => sent.length).toBe(3);
    sent[2]?.answer({ name: 'number', value: 0 });
    await closed;
  });
  sent[0]?.answer({ name: 'queued', left: ttl });
  await expect.poll(() => session.lease.valid).toBe(true);
  continuity = 1;
  const id = queue.idOf(acquisition) as string;
  const grant = { id, token: 1, contended: false, extra: [] };
  session.receive(signMessage({ name: 'held', grant }, sent[0]?.batch.secret as string));
  await Promise.resolve();
  expect(granted).toHaveBeenCalledOnce();
  expect(session.checkLease()).toBe(true);
  // Both were sent before a loss would have been announced to the process.
  sent[1]?.answer({ name: 'renewed', next: undefined });
  await renewed;
  expect(session.checkLease()).toBe(true);
});
