/**
 * The messages of the handshake.
 *
 * The host sends an offer with shared memory and a port. The worker accepts it with the names of the functions that it
 * serves. Either side may start first: the host sends an offer at once, and another when the worker sends a hello.
 *
 * Invariant: each message has the id of its connection, so several bridges and user messages can share a port. Its last
 * element is a bigint, so no message that was parsed from JSON can be mistaken for one.
 */

import { platform } from '../transport/platform.js';
import { randomId } from '../transport/random-id.js';
import type { Transferable } from '../transport/transfer.js';
import { MEMORY_HEAD } from './rings.js';

const tag = 'pointsman.bridge';
const mark = 1n;

export interface Offer {
  readonly id: number;
  /** The memory of the rings; undefined where memory cannot be shared. Then everything is sent as messages. */
  readonly memory: SharedArrayBuffer | undefined;
  readonly port: MessagePort;
  /** The port for values that belong to a frame: see {@link ConnectionOptions.values}. */
  readonly values?: MessagePort | undefined;
  readonly names: readonly string[];
  readonly maxMessageSize: number;
  readonly heartbeatTimeout: number;
  readonly spins: boolean;
}

/** The payload of the `hello` of a thread that blocks until it is connected. */
export interface BlockingHello {
  /** Where this thread receives the offer. */
  readonly port: MessagePort;
  /** The word on which it sleeps; see {@link ring}. */
  readonly bell: Int32Array;
}

/** Wakes a thread that blocks for a message that was posted to it. */
export function ring(bell: Int32Array): void {
  Atomics.store(bell, 0, 1);
  Atomics.notify(bell, 0);
}

type Message = readonly [tag: string, id: number, type: string, payload: unknown, mark: bigint];

export function messageOf(data: unknown): Message | undefined {
  if (!Array.isArray(data) || data[0] !== tag || data[4] !== mark) return undefined;
  return typeof data[1] === 'number' ? (data as unknown as Message) : undefined;
}

export function message(id: number, type: string, payload?: unknown): Message {
  return [tag, id, type, payload, mark];
}

export interface MadeOffer {
  readonly offer: Offer;
  readonly port: MessagePort;
  readonly values: MessagePort | undefined;
  readonly transferList: Transferable[];
}

/** `bufferSize` is for each direction, a power of two. */
export function makeOffer({
  bufferSize,
  ...options
}: Pick<Offer, 'names' | 'maxMessageSize' | 'heartbeatTimeout' | 'spins'> & {
  readonly bufferSize: number;
}): MadeOffer {
  const { port1, port2 } = new MessageChannel();
  const values = platform.receive && new MessageChannel();
  const sharesMemory = typeof SharedArrayBuffer === 'function';
  const offer: Offer = {
    ...options,
    id: randomId(),
    memory: sharesMemory ? new SharedArrayBuffer(MEMORY_HEAD + 2 * bufferSize) : undefined,
    port: port2,
    values: values?.port2,
  };
  const transferList = values ? [port2, values.port2] : [port2];
  return { offer, port: port1, values: values?.port1, transferList };
}
