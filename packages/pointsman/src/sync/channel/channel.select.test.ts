/**
 * Cases of a select on channels: exactly one takes effect, the others leave no trace, and no waiter that could be
 * served is left waiting.
 */
import { nextMacrotask } from '@pointsman/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Broadcast, Channel, Semaphore, select, Watch } from '../index.js';

const quiet = (channel: Channel<unknown>) => [
  channel.length,
  channel.waitingSenders,
  channel.waitingReceivers,
];

describe('a select', () => {
  test('that sends all has won with the first value, and receives none of them itself', async () => {
    const [to, from] = [new Channel<number>(1), new Channel<number>(1)];
    from.trySend(0);
    const first = select(
      { sent: (only) => to.sendAll([1, 2], only), received: (only) => from.receive(only) },
      { biased: true },
    );
    await nextMacrotask();
    expect([await to.receive(), await to.receive(), from.length]).toEqual([1, 2, 1]);
    expect((await first).key).toBe('sent');

    const channel = new Channel<number>(0);
    const both = select(
      { received: (only) => channel.receive(only), sent: (only) => channel.sendAll([1], only) },
      { biased: true },
    );
    await nextMacrotask();
    expect(quiet(channel)).toEqual([0, 1, 1]);
    await channel.receive();
    expect((await both).key).toBe('sent');
  });

  test('that sends and receives on one channel meets others, and never itself', async () => {
    for (const biased of [true, false]) {
      const channel = new Channel<string>(0);
      const both = () =>
        select(
          {
            sent: (only) => channel.send('value', only),
            received: (only) => channel.receive(only),
          },
          { biased },
        );
      const first = both();
      await nextMacrotask();
      expect(quiet(channel)).toEqual([0, 1, 1]);
      const keys = (await Promise.all([first, both()])).map(({ key }) => key);
      expect(keys.sort()).toEqual(['received', 'sent']);
      expect(quiet(channel)).toEqual([0, 0, 0]);
    }
  });

  test('waits on a broadcast and a watch, and takes from one of them', async () => {
    const broadcast = new Broadcast<string>(2);
    const watch = new Watch('a');
    const lines = broadcast.subscribe();
    const states = watch.subscribe();
    const selected = select({
      line: (only) => lines.receive(only),
      state: (only) => states.changed(only),
    });
    watch.send('b');
    broadcast.send('line');
    expect(await selected).toEqual({ key: 'state', value: 'b' });
    expect([lines.length, states.hasChanged]).toEqual([1, false]);
  });
});

test('selects that meet each other: each value that was sent is received, once', async () => {
  const selectCase = fc.record({
    kind: fc.constantFrom('send', 'receive', 'acquire'),
    channel: fc.nat({ max: 1 }),
    permits: fc.integer({ min: 1, max: 2 }),
  });
  const actor = fc.record({
    cases: fc.array(selectCase, { minLength: 1, maxLength: 4 }),
    nested: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.constantFrom(0, 0, 0, 1),
      fc.array(actor, { minLength: 2, maxLength: 6 }),
      async (scheduler, capacity, actors) => {
        const channels = [new Channel<number>(capacity), new Channel<number>(capacity)] as const;
        const semaphore = new Semaphore(2);
        const sent: number[] = [];
        const received: number[] = [];
        let count = 0;
        const ends = new AbortController();
        const run = async ({ cases, nested }: (typeof actors)[number], name: number) => {
          await scheduler.schedule(Promise.resolve(), `${name} selects`);
          const values = cases.map(() => count++);
          const entries = cases.map(({ kind, channel, permits }, index) => {
            const target = channels[channel] as Channel<number>;
            const start = {
              send: (only: object) => target.send(values[index] as number, only),
              receive: (only: object) => target.receive(only),
              acquire: (only: object) => semaphore.acquire({ permits, ...only }),
            }[kind] as (only: object) => Promise<unknown>;
            const inner = nested && index % 2 === 0;
            const started = inner ? (only: object) => select({ inner: start }, only) : start;
            return [`${index}`, started] as const;
          });
          const options = { signal: ends.signal };
          const answer = await select(Object.fromEntries(entries), options).catch(() => undefined);
          if (answer === undefined) return;
          const index = Number(answer.key);
          const won = cases[index];
          let { value } = answer as { value: unknown };
          if (nested && index % 2 === 0) value = (value as { value: unknown }).value;
          if (won?.kind === 'send') sent.push(values[index] as number);
          if (won?.kind === 'receive') received.push(value as number);
          if (won?.kind === 'acquire') {
            await scheduler.schedule(Promise.resolve(), `${name} releases`);
            (value as { release(): void }).release();
          }
        };
        const all = actors.map(run);
        await scheduler.waitIdle();
        await nextMacrotask();
        await scheduler.waitIdle();
        // No two waiters could serve each other: at most one select is left on both sides of a channel.
        for (const channel of channels) received.push(...(await leftIn(channel)));
        ends.abort();
        await Promise.all(all);
        expect(received.sort()).toEqual(sent.sort());
        for (const channel of channels) expect(quiet(channel)).toEqual([0, 0, 0]);
        expect([semaphore.idle, semaphore.available]).toEqual([true, 2]);
      },
    ),
    { numRuns: 500 },
  );
});

/** The buffered values, without those of waiting senders. */
async function leftIn(channel: Channel<number>): Promise<number[]> {
  const values: number[] = [];
  while (channel.length > 0) {
    const next = channel.tryReceive();
    if (next === undefined) break;
    values.push(next.value);
    await nextMacrotask();
  }
  return values;
}
