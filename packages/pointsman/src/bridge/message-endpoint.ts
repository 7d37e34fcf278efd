/**
 * One end of a bridge without shared memory: it sends everything as messages, and no call can block.
 *
 * Invariant: a blocking call throws and posts nothing.
 */

import type { WaitOptions } from '../sync/options.js';
import type { RunInContext } from '../transport/async-context.js';
import { Endpoint, OWN_KINDS } from '../transport/endpoint.js';
import type { NamedFunction } from '../transport/functions.js';
import type { Transferable } from '../transport/transfer.js';
import { type Ending, unanswered } from './ending.js';
import type { BridgeEndpoint, TargetedCall } from './endpoint.js';
import { BridgeStateError } from './errors.js';

/** The other side closes the bridge. The value is its reason. */
const CLOSE = OWN_KINDS;

export interface MessageEndpointOptions {
  readonly cannotBlock: string;
  readonly functions: readonly NamedFunction[];
  /** Runs calls of the other side in this side's asynchronous context. */
  readonly run: RunInContext;
  post(type: string, payload: unknown, transfer: readonly Transferable[]): void;
  keepAlive(isBusy: boolean): void;
}

export class MessageEndpoint implements BridgeEndpoint {
  names: readonly string[] = [];
  readonly #options: MessageEndpointOptions;
  readonly #endpoint: Endpoint;
  #ending: Ending | undefined;
  otherReason: unknown;

  constructor(options: MessageEndpointOptions) {
    const { functions, run, post, keepAlive } = options;
    this.#options = options;
    this.#endpoint = new Endpoint({
      functions,
      run,
      post: (records, transfer) => post('records', records, transfer),
      unanswered: (name, text) => unanswered(this.#ending ?? { text }, name),
      handle: (_kind, _id, _a, reason) => {
        this.otherReason = reason;
      },
      unreadable: (_kind, _id, error) => {
        this.otherReason = error;
      },
      // A side that serves functions stays alive until the bridge is closed.
      activityChanged: (isActive) => {
        if (functions.length === 0) keepAlive(isActive);
      },
    });
  }

  begin(names: readonly string[]): void {
    this.names = names;
    if (this.#options.functions.length > 0) this.#options.keepAlive(true);
  }

  call(target: number, args: readonly unknown[], options: WaitOptions = {}): Promise<unknown> {
    return this.#endpoint.call(target, args, options, this.names[target] as string);
  }

  send(target: number, args: readonly unknown[]): void {
    this.#endpoint.notify(target, args, this.names[target] as string);
  }

  block(target: number): never {
    this.#cannotBlock(this.names[target] as string);
  }

  blockForAll(_calls: readonly TargetedCall[]): never {
    this.#cannotBlock('batch');
  }

  #cannotBlock(name: string): never {
    if (this.#ending) throw unanswered(this.#ending, name);
    throw new BridgeStateError(`${name}() cannot block: ${this.#options.cannotBlock}`, name);
  }

  receive(type: string, payload: unknown): void {
    if (type === 'records') this.#endpoint.receive(payload as readonly unknown[]);
  }

  receiveUnreadable(cause: unknown): boolean {
    return this.#endpoint.receiveUnreadable(cause);
  }

  drain(): void {}

  sendClose(reason: unknown): void {
    if (reason !== undefined) this.#endpoint.sendError(CLOSE, 0, reason);
    this.#endpoint.flush();
  }

  close(ending: Ending): void {
    this.#ending = ending;
    this.#endpoint.close(ending.text);
    this.#options.keepAlive(false);
  }
}
