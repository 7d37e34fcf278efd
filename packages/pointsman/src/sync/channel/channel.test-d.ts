/** The types of channels, broadcasts and watches are part of what is promised. Compiled, never run. */
import { describe, expectTypeOf, test } from 'vitest';
import {
  Broadcast,
  type BroadcastReceiver,
  Channel,
  type ChannelOptions,
  LaggedError,
  type NameOptions,
  type WaitOptions,
  Watch,
  type WatchReceiver,
} from '../index.js';

describe('Channel', () => {
  const channel = new Channel<number>(1);

  test('its operations', () => {
    expectTypeOf<ChannelOptions['whenFull']>().toEqualTypeOf<
      'wait' | 'drop-oldest' | 'reject' | undefined
    >();
    expectTypeOf(channel.send).toEqualTypeOf<
      (value: number, options?: WaitOptions) => Promise<void>
    >();
    expectTypeOf(channel.trySend).toEqualTypeOf<(value: number) => boolean>();
    expectTypeOf(channel.receive).toEqualTypeOf<(options?: WaitOptions) => Promise<number>>();
    expectTypeOf(channel.tryReceive).toEqualTypeOf<() => { value: number } | undefined>();
    expectTypeOf(channel.receiveMany).toEqualTypeOf<
      (max: number, options?: WaitOptions) => Promise<number[]>
    >();
    expectTypeOf(channel.sendAll).toEqualTypeOf<
      (source: Iterable<number> | AsyncIterable<number>, options?: WaitOptions) => Promise<void>
    >();
    expectTypeOf(channel).toExtend<AsyncIterable<number>>();
    expectTypeOf(channel).toExtend<Disposable>();
    expectTypeOf(channel[Symbol.asyncIterator]().next()).resolves.toEqualTypeOf<
      IteratorResult<number, undefined>
    >();
    expectTypeOf(channel.close).toEqualTypeOf<(reason?: unknown) => void>();
  });

  test('an answer that is awaited is no promise', async () => {
    const promises = new Channel<Promise<string>>(1);
    expectTypeOf(await promises.receive()).toEqualTypeOf<string>();
  });

  test('refuses what it is not made for', () => {
    // @ts-expect-error another type of values
    void channel.send('text');
    // @ts-expect-error another type of values
    void channel.sendAll(['text']);
    // @ts-expect-error read only
    channel.capacity = 2;
    // @ts-expect-error no such policy
    new Channel(1, { whenFull: 'drop' });
    // @ts-expect-error a capacity is needed
    new Channel();
    // @ts-expect-error no priorities
    void channel.receive({ priority: 1 });
  });
});

test('Broadcast', () => {
  const broadcast = new Broadcast<number>(1, { name: 'numbers' } satisfies NameOptions);
  expectTypeOf(broadcast.send).toEqualTypeOf<(value: number) => number>();
  expectTypeOf(broadcast.subscribe()).toEqualTypeOf<BroadcastReceiver<number>>();
  const receiver = broadcast.subscribe();
  expectTypeOf(receiver.receive).toEqualTypeOf<(options?: WaitOptions) => Promise<number>>();
  expectTypeOf(receiver.tryReceive).toEqualTypeOf<() => { value: number } | undefined>();
  expectTypeOf(receiver).toExtend<AsyncIterable<number> & Disposable>();
  expectTypeOf<LaggedError['missed']>().toEqualTypeOf<number>();
  expectTypeOf(LaggedError).toBeConstructibleWith('message', 1);
});

test('Watch', () => {
  const watch = new Watch<number | undefined>(1);
  expectTypeOf(watch.value).toEqualTypeOf<number | undefined>();
  expectTypeOf(watch.send).toEqualTypeOf<(value: number | undefined) => void>();
  expectTypeOf(watch.update)
    .parameter(0)
    .toEqualTypeOf<(value: number | undefined) => number | undefined>();
  const receiver: WatchReceiver<number | undefined> = watch.subscribe();
  expectTypeOf(receiver.changed).toEqualTypeOf<
    (options?: WaitOptions) => Promise<number | undefined>
  >();
  expectTypeOf(receiver.hasChanged).toEqualTypeOf<boolean>();
  expectTypeOf(new Watch('a')).toEqualTypeOf<Watch<string>>();
  // @ts-expect-error read only
  watch.value = 2;
});
