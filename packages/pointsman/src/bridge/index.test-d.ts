/** The public types of the entry. */
import { describe, expectTypeOf, test } from 'vitest';
import type * as entry from './index.js';
import {
  type ApiOf,
  type Blocking,
  type ConnectOptions,
  type ConnectSyncOptions,
  connect,
  connectSync,
  type Exposed,
  type ExposeOptions,
  expose,
  type Host,
  type RemoteIterable,
  type Transferable,
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

class Counter {
  #count = 0;
  name = 'a field';
  inc() {
    return ++this.#count;
  }
  [Symbol.dispose]() {}
}

interface WorkerApi {
  progress(done: number): void;
  name(): string;
}

declare const host: Host<Api>;
declare const bridge: Exposed<WorkerApi>;
declare const worker: WorkerLike;

test('the entry exports exactly these values', () => {
  expectTypeOf<keyof typeof entry>().toEqualTypeOf<
    | 'BridgeClosedError'
    | 'BridgeStateError'
    | 'ClosedError'
    | 'DeadlockError'
    | 'TimeoutError'
    | 'UnresponsiveError'
    | 'connect'
    | 'connectSync'
    | 'expose'
    | 'transfer'
  >();
});

class Reader {
  close() {}
}

describe('options', () => {
  test('of expose', () => {
    expectTypeOf<ExposeOptions>().toEqualTypeOf<{
      readonly spin?: 'auto' | false | undefined;
      readonly bufferSize?: number | undefined;
      readonly maxMessageSize?: number | undefined;
      readonly heartbeatTimeout?: number | undefined;
    }>();
  });

  test('of connect', () => {
    expectTypeOf<keyof ConnectOptions>().toEqualTypeOf<'serve' | 'port'>();
    connect({ serve: undefined, port: undefined });
    connect({ serve: new Counter() });
    connect({ serve: { name: () => 'a worker' } });
  });

  test('of connectSync', () => {
    expectTypeOf<keyof ConnectSyncOptions>().toEqualTypeOf<
      | keyof ExposeOptions
      | 'timeout'
      | 'resourceLimits'
      | 'env'
      | 'argv'
      | 'execArgv'
      | 'workerData'
    >();
    connectSync('/a/module.js', { timeout: 5, execArgv: ['--import', 'tsx'], env: undefined });
    connectSync(new URL('https://example.com'));
    connectSync(worker, { timeout: 5 });
    // @ts-expect-error not a worker
    connectSync({});
    // @ts-expect-error not an option
    connectSync('/a/module.js', { serve: {} });
  });

  test('of a call', () => {
    expectTypeOf<WaitOptions>().toEqualTypeOf<{
      readonly signal?: AbortSignal | undefined;
      readonly timeout?: number | undefined;
    }>();
  });
});

describe('the type of the host in the worker', () => {
  test('is the result of connect', () => {
    expectTypeOf(connect<Api>).returns.toEqualTypeOf<Host<Api>>();
    expectTypeOf(connectSync<Api>).returns.toEqualTypeOf<Host<Api>>();
    expectTypeOf(host.ready).toEqualTypeOf<Promise<void>>();
    expectTypeOf(host.closed).toEqualTypeOf<boolean>();
    expectTypeOf(host.ended).toEqualTypeOf<Promise<string>>();
    expectTypeOf(host.close).toEqualTypeOf<(reason?: unknown) => void>();
    expectTypeOf(host).toExtend<Disposable & AsyncDisposable>();
  });

  test('its functions return values', () => {
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

  test('with `async` they return promises, with `send` nothing', () => {
    expectTypeOf(host.async.add(1, 2)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(host.async.later('text')).toEqualTypeOf<Promise<number>>();
    expectTypeOf(host.async.inner.deeper.who()).toEqualTypeOf<Promise<string>>();
    expectTypeOf(host.send.add(1, 2)).toEqualTypeOf<void>();
    // @ts-expect-error a wrong one
    host.async.add(1, '2');
    // @ts-expect-error a wrong one
    host.send.add(1, '2');
  });

  test('a batch returns a tuple of results', () => {
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

  test('`with` returns the same functions', () => {
    const view = host.with({ timeout: 5, signal: new AbortController().signal });
    expectTypeOf(view.add(1, 2)).toEqualTypeOf<number>();
    expectTypeOf(view.async.add(1, 2)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(view.with({ timeout: undefined }).later('x')).toEqualTypeOf<number>();
    // @ts-expect-error not an option
    host.with({ limit: 5 });
  });
});

describe('callable members', () => {
  interface Services {
    counter: Counter;
    Counter: typeof Counter;
    module: { readonly resize: (width: number) => number };
    list: (() => void)[];
    bytes: Uint8Array;
    map: Map<string, () => void>;
    when: Date;
    tagged: { readonly [Symbol.toStringTag]: string; get(): number };
    later: Promise<() => void>;
    signal: AbortSignal;
    inner: { close(): string };
    child: Services;
  }
  type Called = Blocking<Services>;

  test('functions of plain objects and of modules, methods of instances', () => {
    expectTypeOf<keyof Called>().toEqualTypeOf<'counter' | 'module' | 'inner' | 'child'>();
    expectTypeOf<keyof Called['counter']>().toEqualTypeOf<'inc'>();
    expectTypeOf<Called['counter']['inc']>().returns.toEqualTypeOf<number>();
    expectTypeOf<Called['module']['resize']>().returns.toEqualTypeOf<number>();
    expectTypeOf<Called['inner']['close']>().returns.toEqualTypeOf<string>();
    expectTypeOf<Called['child']['child']['counter']['inc']>().returns.toEqualTypeOf<number>();
  });
});

describe('passed values', () => {
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

  test('an iterator works with for and for await', () => {
    expectTypeOf(host.items()).toEqualTypeOf<RemoteIterable<number>>();
    expectTypeOf(host.async.items()).toEqualTypeOf<Promise<RemoteIterable<number>>>();
    expectTypeOf(host.items()[Symbol.iterator]()).toEqualTypeOf<Iterator<number>>();
  });

  test('a transferred value keeps its type', () => {
    expectTypeOf(host.buffer(5)).toEqualTypeOf<ArrayBuffer>();
    const buffer = new ArrayBuffer(5);
    expectTypeOf(host.take(transfer(buffer, [buffer]))).toEqualTypeOf<number>();
    expectTypeOf(host.take(buffer)).toEqualTypeOf<number>();
    // @ts-expect-error something else moves
    host.take(transfer('text', []));
    const { port1 } = new MessageChannel();
    expectTypeOf(port1).toExtend<Transferable>();
    // @ts-expect-error a view of a buffer does not move
    host.take(transfer(buffer, [new Uint8Array(buffer)]));
    // @ts-expect-error nor does a primitive
    host.take(transfer(buffer, ['text']));
  });
});

describe('the type of the worker in the host', () => {
  test('is the result of expose', () => {
    expectTypeOf(expose<WorkerApi>(worker, api)).toEqualTypeOf<Exposed<WorkerApi>>();
    expectTypeOf(bridge.ready).toEqualTypeOf<Promise<void>>();
    expectTypeOf(bridge.closed).toEqualTypeOf<boolean>();
    expectTypeOf(bridge.ended).toEqualTypeOf<Promise<string>>();
    expectTypeOf(bridge.close).toEqualTypeOf<(reason?: unknown) => void>();
    expectTypeOf(bridge).toExtend<Disposable & AsyncDisposable>();
    expectTypeOf(bridge.worker.progress(1)).toEqualTypeOf<Promise<void>>();
    expectTypeOf(bridge.worker.name()).toEqualTypeOf<Promise<string>>();
    expectTypeOf(bridge.with({ timeout: 5 }).name()).toEqualTypeOf<Promise<string>>();
    expectTypeOf(bridge.worker.batch((calls) => [calls.name()])).toEqualTypeOf<Promise<[string]>>();
    expectTypeOf(bridge.with({}).batch((calls) => [calls.name()])).toEqualTypeOf<
      Promise<[string]>
    >();
    // @ts-expect-error a wrong one
    bridge.worker.progress('all');
  });

  test('ApiOf is the type of the exposed API', () => {
    const inferred = expose(worker, api);
    expectTypeOf<ApiOf<typeof inferred>>().toEqualTypeOf<Api>();
    expectTypeOf(connect<ApiOf<typeof inferred>>()).toEqualTypeOf<Host<Api>>();
    const given = expose<WorkerApi, Api>(worker, api);
    expectTypeOf<ApiOf<typeof given>>().toEqualTypeOf<Api>();
    expectTypeOf(given.worker.name()).toEqualTypeOf<Promise<string>>();
    expose<WorkerApi>(worker, { anything: () => 1 });
    const counting = expose(worker, new Counter());
    expectTypeOf(connect<ApiOf<typeof counting>>().inc()).toEqualTypeOf<number>();
    // @ts-expect-error not the declared type
    expose<WorkerApi, Api>(worker, { add: api.add });
    // @ts-expect-error a reserved name
    expose(worker, { add: api.add, ended() {} });
    // @ts-expect-error nor in a class
    expose(worker, new Reader());
    // @ts-expect-error not callable
    expose(worker, 'text');
  });
});
