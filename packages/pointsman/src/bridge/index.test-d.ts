/** The types of the entry, as those who import it see them. */
import { describe, expectTypeOf, test } from 'vitest';
import type * as entry from './index.js';
import {
  connect,
  type Exposed,
  type ExposeOptions,
  expose,
  type Host,
  type RemoteIterable,
  type Transferred,
  transfer,
  type WaitOptions,
  type WorkerLike,
} from './index.js';

const api = {
  add: (a: number, b: number) => a + b,
  later: async (text: string) => text.length,
  nothing() {},
  optional: (a: number, b?: string) => b ?? a,
  callMany: async (f: (n: number) => Promise<string>) => f(1),
  make: (by: number) => (n: number) => n * by,
  async *items() {
    yield 1;
  },
  buffer: (size: number) => transfer(new ArrayBuffer(size), []),
  take: (buffer: ArrayBuffer) => buffer.byteLength,
  inner: { deeper: { who: () => 'me' } },
  constant: 5,
};
type Api = typeof api;

interface WorkerApi {
  progress(done: number): void;
  name(): string;
}

declare const host: Host<Api>;
declare const bridge: Exposed<WorkerApi>;
declare const worker: WorkerLike;

test('the entry has these values, and no others', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    | 'BridgeClosedError'
    | 'BridgeStateError'
    | 'DeadlockError'
    | 'UnresponsiveError'
    | 'connect'
    | 'expose'
    | 'transfer'
  >();
});

describe('options', () => {
  test('of expose', () => {
    expectTypeOf<keyof ExposeOptions>().toEqualTypeOf<'spin' | 'capacity' | 'limit' | 'patience'>();
    expectTypeOf<ExposeOptions['spin']>().toEqualTypeOf<'auto' | false | undefined>();
  });

  test('of a call', () => {
    expectTypeOf<WaitOptions>().toEqualTypeOf<{
      readonly signal?: AbortSignal | undefined;
      readonly timeout?: number | undefined;
    }>();
  });
});

describe('the host, seen by the worker', () => {
  test('is what connect returns', () => {
    expectTypeOf(connect<Api>).returns.toEqualTypeOf<Host<Api>>();
    expectTypeOf(host.ready).toEqualTypeOf<Promise<void>>();
    expectTypeOf(host.closed).toEqualTypeOf<Promise<string>>();
    expectTypeOf(host.close).returns.toBeVoid();
  });

  test('its functions block', () => {
    expectTypeOf(host.add(1, 2)).toEqualTypeOf<number>();
    expectTypeOf(host.later('text')).toEqualTypeOf<number>();
    expectTypeOf(host.nothing()).toEqualTypeOf<void>();
    expectTypeOf(host.inner.deeper.who()).toEqualTypeOf<string>();
    expectTypeOf(host.optional(1)).toEqualTypeOf<string | number>();
    // @ts-expect-error too few
    host.add(1);
    // @ts-expect-error a wrong one
    host.add(1, '2');
    // @ts-expect-error no function
    host.constant;
    // @ts-expect-error not there
    host.missing();
  });

  test('or return a promise, or nothing', () => {
    expectTypeOf(host.async.add(1, 2)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(host.async.later('text')).toEqualTypeOf<Promise<number>>();
    expectTypeOf(host.async.inner.deeper.who()).toEqualTypeOf<Promise<string>>();
    expectTypeOf(host.send.add(1, 2)).toEqualTypeOf<void>();
    // @ts-expect-error a wrong one
    host.async.add(1, '2');
    // @ts-expect-error a wrong one
    host.send.add(1, '2');
  });

  test('a batch has a tuple of answers', () => {
    expectTypeOf(
      host.batch((calls) => [calls.add(1, 2), calls.inner.deeper.who(), calls.later('x')]),
    ).toEqualTypeOf<[number, string, number]>();
    expectTypeOf(
      host.async.batch((calls) => [calls.add(1, 2), calls.inner.deeper.who()]),
    ).toEqualTypeOf<Promise<[number, string]>>();
    expectTypeOf(host.batch((calls) => [1, 2].map((n) => calls.add(n, n)))).toEqualTypeOf<
      number[]
    >();
    // @ts-expect-error not a call
    host.batch(() => [5]);
  });

  test('with options it looks the same', () => {
    const view = host.with({ timeout: 5, signal: new AbortController().signal });
    expectTypeOf(view.add(1, 2)).toEqualTypeOf<number>();
    expectTypeOf(view.async.add(1, 2)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(view.with({ timeout: undefined }).later('x')).toEqualTypeOf<number>();
    // @ts-expect-error not an option
    host.with({ limit: 5 });
  });
});

describe('what is passed on', () => {
  test('a callback need not be asynchronous', () => {
    expectTypeOf(host.callMany((n) => String(n))).toEqualTypeOf<string>();
    expectTypeOf(host.callMany(async (n) => String(n))).toEqualTypeOf<string>();
    // @ts-expect-error the wrong result
    host.callMany((n) => n);
  });

  test('a function returns a promise on the other side', () => {
    expectTypeOf(host.make(2)).toEqualTypeOf<
      (n: number | Transferred<number>) => Promise<number>
    >();
  });

  test('an iterator can be used by both kinds of for', () => {
    expectTypeOf(host.items()).toEqualTypeOf<RemoteIterable<number>>();
    expectTypeOf(host.async.items()).toEqualTypeOf<Promise<RemoteIterable<number>>>();
    expectTypeOf(host.items()[Symbol.iterator]()).toEqualTypeOf<Iterator<number>>();
  });

  test('what moves arrives as itself', () => {
    expectTypeOf(host.buffer(5)).toEqualTypeOf<ArrayBuffer>();
    const buffer = new ArrayBuffer(5);
    expectTypeOf(host.take(transfer(buffer, [buffer]))).toEqualTypeOf<number>();
    expectTypeOf(host.take(buffer)).toEqualTypeOf<number>();
    // @ts-expect-error something else moves
    host.take(transfer('text', []));
  });
});

describe('the worker, seen by the host', () => {
  test('is what expose returns', () => {
    expectTypeOf(expose<WorkerApi>(worker, api)).toEqualTypeOf<Exposed<WorkerApi>>();
    expectTypeOf(bridge.ready).toEqualTypeOf<Promise<void>>();
    expectTypeOf(bridge.closed).toEqualTypeOf<Promise<string>>();
    expectTypeOf(bridge.worker.progress(1)).toEqualTypeOf<Promise<void>>();
    expectTypeOf(bridge.worker.name()).toEqualTypeOf<Promise<string>>();
    expectTypeOf(bridge.with({ timeout: 5 }).name()).toEqualTypeOf<Promise<string>>();
    expectTypeOf(bridge.worker.batch((calls) => [calls.name()])).toEqualTypeOf<Promise<[string]>>();
    // @ts-expect-error a wrong one
    bridge.worker.progress('all');
  });
});
