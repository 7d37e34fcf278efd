/**
 * How two threads come together: the messages of the handshake.
 *
 * The host offers: memory and a port. The worker accepts by naming what it serves. Either may be first:
 * the host offers at once, and again to a worker that says hello later.
 *
 * Invariant: each message names its connection, so that several bridges and the user's own messages can share a
 * channel. They end with a bigint, so no user message that was made from JSON can be mistaken for one of them.
 */

import { platform } from '../transport/platform.js';
import { randomId } from '../transport/random-id.js';
import type { Transferable } from '../transport/transfer.js';
import { MEMORY_HEAD } from './rings.js';

const tag = 'pointsman.bridge';
const mark = 1n;

export interface Offer {
  readonly id: number;
  /** The rings; undefined where memory cannot be shared, so that everything goes by message. */
  readonly memory: SharedArrayBuffer | undefined;
  readonly port: MessagePort;
  /** Another port for values that travel beside a frame; see {@link ConnectionOptions.values}. */
  readonly values?: MessagePort | undefined;
  /** What the host serves. */
  readonly names: readonly string[];
  readonly maxMessageSize: number;
  readonly heartbeatTimeout: number;
  readonly spins: boolean;
}

/** What a message says: of which connection, what, and with which value. */
type Message = readonly [tag: string, id: number, type: string, payload: unknown, mark: bigint];

export function messageOf(data: unknown): Message | undefined {
  if (!Array.isArray(data) || data[0] !== tag || data[4] !== mark) return undefined;
  return typeof data[1] === 'number' ? (data as unknown as Message) : undefined;
}

export function message(id: number, type: string, payload?: unknown): Message {
  return [tag, id, type, payload, mark];
}

/** An offer, and what stays with whoever makes it: the ports of its side, and what goes along. */
export interface MadeOffer {
  readonly offer: Offer;
  readonly port: MessagePort;
  readonly values: MessagePort | undefined;
  /** To be transferred with the offer. */
  readonly moving: Transferable[];
}

/** `bufferSize`: bytes of shared memory for each direction, a power of two. */
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
  const moving = values ? [port2, values.port2] : [port2];
  return { offer, port: port1, values: values?.port1, moving };
}
