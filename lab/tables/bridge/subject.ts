/**
 * A subject of this table: one way to call functions of another thread, used as its own documentation says.
 *
 * A subject has two sides. `serve` runs in the host (a page, or Node's main thread), has the functions and starts the
 * worker. `connect` runs in that worker and returns the caller. Both are the same code in Chromium and in Node. In the
 * other direction, from Node's main thread into a worker, `callWorker` starts the worker and returns the caller.
 */
import type { Subject } from '../../harness/table.js';
import type { HostFunctions, ServedFunctions } from './host/functions.js';
import type { Work } from './work.js';

export const platforms = ['Chromium', 'Node', 'Node, into a worker'] as const;
export type Platform = (typeof platforms)[number];

/** The other end of a worker, or from inside a worker its parent. */
export interface Thread {
  post(message: unknown, transfer?: Transferable[]): void;
  listen<Message>(heard: (message: Message) => void): void;
}

export interface StartedWorker {
  readonly thread: Thread;
  /** The platform's own object, for libraries that need it. */
  readonly raw: unknown;
}

/** `connect` makes calls, `echo` is the second worker of a floor that has no host. */
export type Part = 'connect' | 'echo';

export type WorkerConstructor = new (url: string, options: WorkerOptions) => Worker;

export interface HostPlace {
  readonly platform: Platform;
  readonly functions: ServedFunctions;
  /** `implementation` is for a library that has its own worker class in a page. */
  startWorker(part?: Part, implementation?: WorkerConstructor): StartedWorker;
}

export interface WorkerPlace {
  readonly platform: Platform;
  readonly thread: Thread;
  /** The global object of a web worker, or Node's parentPort. */
  readonly raw: unknown;
}

export type AwaitedFunctions = {
  readonly [Name in keyof HostFunctions]: (
    ...given: Parameters<HostFunctions[Name]>
  ) => PromiseLike<ReturnType<HostFunctions[Name]>>;
};

/** The ways to call. A function that no work of the subject needs may be missing. */
export interface Caller {
  readonly blocking?: Partial<HostFunctions>;
  readonly awaited?: Partial<AwaitedFunctions>;
  /** Like `rect`, blocking, but the host's function is asynchronous. */
  rectOfAsync?(): unknown;
  /** Makes `calls` calls of `rect` in one round trip. */
  batch?(calls: number): readonly unknown[];
  /** Puts a thread to sleep that would spin between two slices, until `resume`. */
  rest?(): void;
  resume?(): void;
  /** The number of answered calls, where the functions are in a worker. */
  answered?(): number;
}

export interface BridgeSubject extends Subject {
  readonly platforms: readonly Platform[];
  readonly does: readonly Work[];
  /** Works that the subject does as another, because it has no way of its own. */
  readonly doneBy?: Partial<Record<Work, Work>>;
  /** Whether its answers are truncated to whole numbers. */
  readonly wholeNumbers?: true;
  /** Whether the host's count is not checked, because no call arrives there. */
  readonly uncounted?: true;
  /** Returns the caller if the subject needs no worker. */
  serve?(place: HostPlace): Promise<Caller | undefined>;
  connect?(place: WorkerPlace): Promise<Caller>;
  echo?(place: WorkerPlace): Promise<void>;
  callWorker?(): Promise<Caller>;
}
