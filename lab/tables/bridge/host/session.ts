/**
 * The host's side: serves one subject in this thread, has its calls made, and compares their number with the answers
 * given here.
 */
import type { Answer, Found, Order } from '../caller/order.js';
import { perform } from '../caller/perform.js';
import type {
  BridgeSubject,
  Caller,
  HostPlace,
  Part,
  Platform,
  StartedWorker,
  WorkerConstructor,
} from '../subject.js';
import { countedFunctions, type Rect } from './functions.js';

/** The parts that differ between a page and Node. */
export interface Ground {
  readonly platform: Platform;
  rect(): Rect;
  startWorker(
    task: { readonly part: Part; readonly channel: string },
    onError: (error: Error) => void,
    implementation?: WorkerConstructor,
  ): StartedWorker & { end(): void };
}

let sessions = 0;

export class Session {
  readonly #subject: BridgeSubject;
  readonly #channel: BroadcastChannel;
  readonly #counted;
  readonly #workers: { end(): void }[] = [];
  #local: Caller | undefined;
  #next: PromiseWithResolvers = withResolvers();

  private constructor(subject: BridgeSubject, ground: Ground, channel: string) {
    this.#subject = subject;
    this.#counted = countedFunctions(ground.rect);
    this.#channel = new BroadcastChannel(channel);
    this.#channel.onmessage = (event) => this.#hear((event as MessageEvent<Answer>).data);
  }

  static async open(subject: BridgeSubject, ground: Ground): Promise<Session> {
    sessions += 1;
    const channel = `lab bridge ${sessions}`;
    const session = new Session(subject, ground, channel);
    const place: HostPlace = {
      platform: ground.platform,
      functions: session.#counted.functions,
      startWorker: (part = 'connect', implementation) => {
        const onError = (error: Error) => session.#next.reject(error);
        const worker = ground.startWorker({ part, channel }, onError, implementation);
        session.#workers.push(worker);
        return worker;
      },
    };
    const ready = session.#next.promise;
    // If a worker fails, its host may wait for it forever.
    const brokenDown = ready.then(() => new Promise<never>(() => {}));
    const opened =
      ground.platform === 'Node, into a worker' ? subject.callWorker?.() : subject.serve?.(place);
    session.#local = await Promise.race([opened, brokenDown]);
    if (!session.#local) await ready;
    return session;
  }

  async run(order: Order): Promise<Found> {
    const before = this.#answered();
    const found = await this.#perform(order);
    const answered = this.#answered() - before;
    if (!this.#subject.uncounted && answered !== found.calls) {
      throw new Error(`made ${found.calls} calls, of which ${answered} were answered`);
    }
    return found;
  }

  async #perform(order: Order): Promise<Found> {
    if (this.#local) return perform(order, this.#local, this.#subject.wholeNumbers === true);
    this.#next = withResolvers();
    this.#channel.postMessage(order);
    const answer = await this.#next.promise;
    if (!('found' in answer)) throw new Error('answered out of turn');
    return answer.found;
  }

  #answered(): number {
    return this.#local?.answered?.() ?? this.#counted.answered();
  }

  #hear(answer: Answer): void {
    if ('failed' in answer) this.#next.reject(new Error(answer.failed));
    else this.#next.resolve(answer);
  }

  close(): void {
    this.#channel.close();
    for (const worker of this.#workers) worker.end();
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<Answer>;
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve!: (answer: Answer) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<Answer>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  // A worker may fail while no call waits for it; the next call that waits gets the error.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
