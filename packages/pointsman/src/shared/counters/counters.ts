/**
 * Counters of fixed windows in a store, for rate-limit libraries whose stores count.
 *
 * Invariants:
 * - Every call settles within the deadline.
 * - Hits are never lost: after a lost connection they are sent again, and may then count twice. An operation that lowers a
 *   counter is sent once, and rejects if the connection was lost before the reply.
 */

import { ClosedError, invalid } from '../../sync/errors.js';
import { checkOptions } from '../../sync/options.js';
import { labelOf, StoreError } from '../errors.js';
import { checkText } from '../limiter/options.js';
import { StartStream } from '../limiter/stream.js';
import type { CountRequest, CountResult } from '../protocol/counters.js';
import type { Operation, Result } from '../protocol/protocol.js';
import { type BaseStore, checkStore, type Primitive, type Store } from '../store.js';

/** Options for {@link expressRateLimitStore} and {@link fastifyRateLimitStore}. */
export interface RateLimitStoreOptions {
  /** Maximum milliseconds that a request waits for the store, any number above 0. Default 1000. */
  readonly deadline?: number | undefined;
}

/** Returns how the counters of a limit begin. The length keeps the names of limits and keys apart. */
export const prefixOf = (limit: string): string => `${limit.length}:${limit}:`;

/** The longest delay of a platform timer. */
const LONGEST = 2 ** 31 - 1;

export class Counters implements Primitive {
  readonly name: string;
  readonly #store: BaseStore;
  readonly #label: string;
  readonly #deadline: number;
  readonly #pending = new Set<Promise<unknown>>();
  #stream: StartStream | undefined;
  #refusal: { readonly reason: unknown } | undefined;
  #closing: Promise<void> | undefined;

  /** @throws {TypeError | RangeError} if an argument is invalid. */
  constructor(store: Store, name: string, options: RateLimitStoreOptions) {
    checkStore(store);
    checkText('name', name);
    checkOptions(options, ['deadline']);
    const { deadline = 1_000 } = options;
    if (!(typeof deadline === 'number' && deadline > 0)) {
      throw invalid('deadline', deadline, 'a number of milliseconds above 0', 'number');
    }
    this.name = name;
    this.#store = store;
    this.#label = labelOf(store.name);
    this.#deadline = deadline;
  }

  async count(request: CountRequest): Promise<CountResult> {
    const operation = { name: 'count', ...request } as const;
    return (await this.#send(operation, request.by < 0)) as CountResult;
  }

  async forget(counter: string): Promise<void> {
    await this.#send({ name: 'forget', counter }, true);
  }

  /** Refuses new requests, and closes when the store has replied to the others, or at their deadlines. */
  async shutdown(): Promise<void> {
    this.#refusal ??= { reason: this.#closedError() };
    await Promise.allSettled(this.#pending);
    await this.#close();
  }

  close(reason: unknown): Promise<void> {
    this.#refusal ??= { reason };
    return this.#close();
  }

  #close(): Promise<void> {
    this.#closing ??= Promise.resolve(this.#stream?.close()).then(() => this.#store.delete(this));
    return this.#closing;
  }

  #closedError(): ClosedError {
    return new ClosedError(`${this.#label}the rate limit store '${this.name}' is closed`);
  }

  #open(): StartStream {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    this.#store.refuseIfClosed();
    if (this.#stream === undefined) {
      this.#stream = new StartStream(this.#store, this.#label, { batches: 0 });
      this.#store.add(this);
    }
    return this.#stream;
  }

  #send(operation: Operation, isOnce: boolean): Promise<Result> {
    const stream = this.#open();
    const result = new Promise<Result>((resolve, reject) => {
      let isOver = false;
      let isSent = false;
      const end = (): void => {
        isOver = true;
        clearTimeout(timer);
        this.#pending.delete(result);
      };
      const fail = (error: unknown): void => {
        end();
        reject(error);
      };
      const errorOf = (message: string): StoreError =>
        new StoreError(this.#label + message, { cause: stream.trouble });
      const timer = setTimeout(
        () => {
          fail(errorOf(`the store has not replied within ${this.#deadline} ms`));
          stream.checkSilence(this.#deadline);
        },
        Math.min(Math.ceil(this.#deadline), LONGEST),
      );
      stream.send({
        operation: () => {
          if (isOver) return undefined;
          if (isOnce && isSent) {
            fail(errorOf('the connection was lost, and the store may or may not have replied'));
            return undefined;
          }
          isSent = true;
          return operation;
        },
        done: (value) => {
          end();
          resolve(value);
        },
        failed: fail,
        lost: () => fail(this.#refusal?.reason ?? errorOf('the connection was lost')),
      });
    });
    this.#pending.add(result);
    return result;
  }
}
