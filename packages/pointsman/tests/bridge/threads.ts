/**
 * What the tests of the bridge stand on: threads that run functions of the test, in Node and in a page.
 * Such a function is sent as its source, so it can use nothing but its parameters; the first are the
 * tools of `thread.ts`.
 */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Exposed, type ExposeOptions, expose } from '../../src/bridge/index.js';
import { start, startWebWorker } from './start.node.js';
import type { Thrown, Tools } from './thread.js';

export { startNothing } from './start.node.js';
export type { Thrown, Tools };

/** What differs between runtimes. */
export interface Started {
  readonly worker: { postMessage(message: unknown, ...rest: never[]): void };
  listen(listener: (message: unknown) => void): void;
  post(message: unknown, list: readonly Transferable[]): void;
  terminate(): void;
  /** Resolves when it has ended, with its exit code. */
  readonly ended: Promise<number>;
}

/** In Node, or in what behaves like it: Bun and Deno. */
export const inNode = typeof process !== 'undefined';

type Work<Args extends readonly unknown[], Result, Api> = (
  tools: Tools<Api>,
  ...args: Args
) => Result;

export class Thread {
  readonly #started: Started;
  readonly #open = new Map<number, { resolve(value: never): void; reject(error: unknown): void }>();
  #ids = 0;
  readonly running: Promise<void>;

  constructor(started: Started) {
    this.#started = started;
    this.running = new Promise((resolve, reject) => this.#open.set(0, { resolve, reject }));
    started.listen((message) => {
      if (!Array.isArray(message) || message[0] !== 'test') return;
      const [, id, succeeded, value] = message;
      const open = this.#open.get(id);
      this.#open.delete(id);
      if (succeeded) open?.resolve(value as never);
      else {
        const { name, stack } = value as Thrown;
        open?.reject(new Error(`in the thread: ${name} ${stack}`));
      }
    });
  }

  get worker(): Started['worker'] {
    return this.#started.worker;
  }

  get ended(): Promise<number> {
    return this.#started.ended;
  }

  /** Runs a function in the thread; what it returns is cloned. */
  run<Args extends readonly unknown[], Result, Api = object>(
    work: Work<Args, Result, Api>,
    ...args: Args
  ): Promise<Awaited<Result>> {
    return this.runWith([], work, ...args);
  }

  /** The same, and some of the arguments move. */
  runWith<Args extends readonly unknown[], Result, Api = object>(
    list: readonly Transferable[],
    work: Work<Args, Result, Api>,
    ...args: Args
  ): Promise<Awaited<Result>> {
    return new Promise((resolve, reject) => {
      const id = ++this.#ids;
      this.#open.set(id, { resolve, reject });
      this.#started.post(['test', id, String(work), args], list);
    });
  }

  terminate(): void {
    this.#started.terminate();
  }
}

const started = new Set<Thread>();

async function startUnowned(begin = start): Promise<Thread> {
  const thread = new Thread(await begin());
  started.add(thread);
  await thread.running;
  return thread;
}

/** A thread that ends with its test. */
export async function startThread(): Promise<Thread> {
  return ending(await startUnowned());
}

/** The same as a Web Worker. */
export async function startWebThread(): Promise<Thread> {
  return ending(await startUnowned(startWebWorker));
}

function ending(thread: Thread): Thread {
  onTestFinished(() => thread.terminate());
  return thread;
}

/** The two ways in which a bridge can work, by what the host can give it. */
export const ways = ['shared memory', 'messages'] as const;

export interface BridgeOptions<WorkerApi> extends ExposeOptions {
  /** Default: shared memory. */
  readonly way?: (typeof ways)[number];
  /** Makes what the worker serves, there. */
  readonly serve?: (tools: Tools) => WorkerApi;
}

export interface Bridged<Api, WorkerApi> {
  readonly thread: Thread;
  readonly bridge: Exposed<WorkerApi>;
  /** Runs a function in the thread. */
  run<Args extends readonly unknown[], Result>(
    work: Work<Args, Result, Api>,
    ...args: Args
  ): Promise<Awaited<Result>>;
}

export async function connect<WorkerApi>(
  thread: Thread,
  { serve }: BridgeOptions<WorkerApi> = {},
): Promise<void> {
  await thread.run(async ({ bridge, kept, evaluate, ...tools }, serve) => {
    const connected = bridge.connect({
      ...(serve && { serve: evaluate(serve)({ bridge, kept, evaluate, ...tools }) as object }),
    });
    kept.host = connected;
    await connected.ready;
  }, serve && String(serve));
}

/** Runs it as in a page that is not cross-origin isolated. */
async function withoutSharedMemory<Result>(work: () => Promise<Result>): Promise<Result> {
  const memory = globalThis.SharedArrayBuffer;
  Object.assign(globalThis, { SharedArrayBuffer: undefined });
  try {
    return await work();
  } finally {
    Object.assign(globalThis, { SharedArrayBuffer: memory });
  }
}

async function connected<Api extends object, WorkerApi>(
  thread: Thread,
  api: Api,
  options: BridgeOptions<WorkerApi>,
): Promise<Bridged<Api, WorkerApi>> {
  const { way, serve: _, ...rest } = options;
  const meet = async () => {
    const bridge = expose<WorkerApi>(thread.worker, api, rest);
    await Promise.all([bridge.ready, connect(thread, options)]);
    return bridge;
  };
  const bridge = await (way === 'messages' ? withoutSharedMemory(meet) : meet());
  return { thread, bridge, run: (work, ...args) => thread.run(work, ...args) };
}

/** A thread connected to this one; both end with the test. */
export async function bridged<Api extends object, WorkerApi = object>(
  api: Api,
  options: BridgeOptions<WorkerApi> = {},
): Promise<Bridged<Api, WorkerApi>> {
  const thread = await startThread();
  const all = await connected(thread, api, options);
  onTestFinished(() => all.bridge.close());
  return all;
}

/** The same for all tests of a group; it is there as soon as the first of them runs. */
export function useBridge<Api extends object, WorkerApi = object>(
  api: Api,
  options: BridgeOptions<WorkerApi> = {},
): Bridged<Api, WorkerApi> {
  const all = {} as {
    -readonly [Key in keyof Bridged<Api, WorkerApi>]: Bridged<Api, WorkerApi>[Key];
  };
  beforeAll(async () => {
    Object.assign(all, await connected(await startUnowned(), api, options));
  });
  afterAll(() => {
    all.bridge?.close();
    all.thread?.terminate();
  });
  return all;
}

/** Waits for a condition, in turns of the event loop. */
export async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
