/**
 * Threads that run functions of a test, in Node and in a page. A function is sent as its source, so it can use only its
 * parameters; the first parameter is the {@link Tools} of `thread.ts`.
 */
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { type Exposed, type ExposeOptions, expose } from '../../src/bridge/index.js';
import { start, startWebWorker } from './start.node.js';
import type { Thrown, Tools } from './thread.js';

export { startNothing } from './start.node.js';
export type { Thrown, Tools };

/** A started thread: the parts that differ between runtimes. */
export interface Started {
  readonly worker: { postMessage(message: unknown, ...rest: never[]): void };
  listen(listener: (message: unknown) => void): void;
  post(message: unknown, list: readonly Transferable[]): void;
  terminate(): void;
  /** Resolves with the exit code when the thread has ended. */
  readonly ended: Promise<number>;
}

/** Whether this runtime is Node, Bun or Deno. */
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

  /** Runs a function in the thread. Resolves with a clone of its result. */
  run<Args extends readonly unknown[], Result, Api = object>(
    work: Work<Args, Result, Api>,
    ...args: Args
  ): Promise<Awaited<Result>> {
    return this.runWith([], work, ...args);
  }

  /** Like {@link run}, and transfers `list`. */
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

/** Starts a thread that ends with its test. */
export async function startThread(): Promise<Thread> {
  return ending(await startUnowned());
}

/** Starts a Web Worker that ends with its test. */
export async function startWebThread(): Promise<Thread> {
  return ending(await startUnowned(startWebWorker));
}

function ending(thread: Thread): Thread {
  onTestFinished(() => thread.terminate());
  return thread;
}

/** The transports of a bridge. */
export const transports = ['shared memory', 'messages'] as const;

/** A ring that holds most messages whole, and one that sends them in parts. */
export const ringSizes = [
  ['ring', {}],
  ['parts', { bufferSize: 4096 }],
] as const;

export interface BridgeOptions<WorkerApi> extends ExposeOptions {
  /** Default: shared memory. */
  readonly transport?: (typeof transports)[number];
  /** Runs in the worker. Returns the functions that the worker serves. */
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

/** Runs `work` as in a page that is not cross-origin isolated. */
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
  const { transport, serve: _, ...rest } = options;
  const meet = async () => {
    const bridge = expose<WorkerApi>(thread.worker, api, rest);
    await Promise.all([bridge.ready, connect(thread, options)]);
    return bridge;
  };
  const bridge = await (transport === 'messages' ? withoutSharedMemory(meet) : meet());
  return { thread, bridge, run: (work, ...args) => thread.run(work, ...args) };
}

/** Starts a thread that is connected to this one. Bridge and thread end with the test. */
export async function bridged<Api extends object, WorkerApi = object>(
  api: Api,
  options: BridgeOptions<WorkerApi> = {},
): Promise<Bridged<Api, WorkerApi>> {
  const thread = await startThread();
  const all = await connected(thread, api, options);
  onTestFinished(() => all.bridge.close());
  return all;
}

/** Like {@link bridged}, for all tests of a group. Connected before the first test runs. */
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

/** Polls until the condition holds, once per turn of the event loop. */
export async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
