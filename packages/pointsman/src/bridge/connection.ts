/**
 * How two threads come together: the messages of the handshake, and the parts of a side that depend on
 * the transport.
 *
 * The host offers: memory and a port. The worker accepts by naming what it serves. Either may be first:
 * the host offers at once, and again to a worker that says hello later.
 */

import { listen, type Port, platform } from '../transport/platform.js';
import { CONTROL_SIZE, Control, type Role } from './control.js';
import { PortReader, PortWriter } from './links.js';
import { Memory } from './ring/memory.js';
import { CONTROL, RingReader, RingWriter } from './ring/ring.js';
import { type AnyFunction, Side, type Tasks } from './side.js';

const tag = 'pointsman.bridge';

export interface Offer {
  readonly id: number;
  /** The rings; undefined where memory cannot be shared, so that frames travel by message. */
  readonly memory: SharedArrayBuffer | undefined;
  readonly port: MessagePort;
  /** Another port for values that move; see {@link Terms.values}. */
  readonly values?: MessagePort | undefined;
  readonly names: readonly string[];
  readonly limit: number;
  readonly patience: number;
  readonly spin: boolean;
}

/** What a message says: of which connection, what, and with which value. */
type Message = readonly [tag: string, id: number, type: string, payload: unknown];

export function messageOf(data: unknown): Message | undefined {
  return Array.isArray(data) && data[0] === tag ? (data as unknown as Message) : undefined;
}

export function message(id: number, type: string, payload?: unknown): Message {
  return [tag, id, type, payload];
}

export const otherHasClosed = 'the other side has closed the bridge';
export const workerHasEnded = 'the worker has ended';
export const hostHasEnded = 'the host has ended';

const noSharedMemory =
  'there is no SharedArrayBuffer, because the page is not cross-origin isolated: serve it with the headers "Cross-Origin-Opener-Policy: same-origin" and "Cross-Origin-Embedder-Policy: require-corp"';

/** Where things lie in the shared memory. */
const upControl = 256;
const downControl = upControl + CONTROL;
const data = downControl + CONTROL;

function makeMemory(capacity: number): SharedArrayBuffer | undefined {
  if (typeof SharedArrayBuffer !== 'function') return undefined;
  if (CONTROL_SIZE > upControl) throw new Error('the control words overlap the ring');
  return new SharedArrayBuffer(data + 2 * capacity);
}

/** An offer, and what stays with whoever makes it: the ports of its side, and what goes along. */
export interface MadeOffer {
  readonly offer: Offer;
  readonly port: MessagePort;
  readonly values: MessagePort | undefined;
  /** To be transferred with the offer. */
  readonly moving: Transferable[];
}

/** `capacity`: bytes of shared memory for each direction, a power of two. */
export function makeOffer({
  capacity,
  ...terms
}: Pick<Offer, 'names' | 'limit' | 'patience' | 'spin'> & {
  readonly capacity: number;
}): MadeOffer {
  const { port1, port2 } = new MessageChannel();
  const values = platform.receive && new MessageChannel();
  const offer: Offer = {
    ...terms,
    id: 1 + Math.floor(Math.random() * 0x7ffffffe),
    memory: makeMemory(capacity),
    port: port2,
    values: values?.port2,
  };
  const moving = values ? [port2, values.port2] : [port2];
  return { offer, port: port1, values: values?.port1, moving };
}

export interface Terms {
  readonly role: Role;
  readonly offer: Offer;
  /** The port of the connection, on this side. */
  readonly port: MessagePort;
  /**
   * For values that move, where messages can be received without a return to the event loop. Nobody
   * listens there: in Deno a port that has a listener takes a message some turns before it hands it on,
   * and meanwhile a later one would be received in its place.
   */
  readonly values?: MessagePort | undefined;
  /** The worker, or in a worker its host: another way for messages, see {@link Connection.post}. */
  readonly base: Port;
  readonly functions: readonly { readonly name: string; readonly call: AnyFunction }[];
  /** Of a pool. */
  readonly tasks?: Tasks;
  /** The bridge has ended. */
  ended(reason: string): void;
}

/** One side and its way to the other. */
export class Connection {
  readonly side: Side;
  readonly #terms: Terms;
  readonly #port: Port;
  readonly #values: Port | undefined;
  readonly #frames: PortReader | undefined;
  readonly #stopListening: () => void;
  #ended = false;

  constructor(terms: Terms) {
    const { role, offer, port, values } = terms;
    this.#terms = terms;
    this.#port = port as unknown as Port;
    this.#values = values as unknown as Port | undefined;
    const { memory } = offer;
    const rings = memory && this.#rings(memory);
    this.#frames = rings ? undefined : new PortReader();
    const ringReader = rings?.reader;
    const ringWriter = rings?.writer;
    const frames = new PortWriter((buffer) => this.post('frames', buffer, [buffer]));
    this.side = new Side({
      writer: ringWriter ?? frames,
      reader: ringReader ?? (this.#frames as PortReader),
      ringWriter,
      ringReader,
      control: memory && new Control(memory, role),
      cannotBlock: this.#cannotBlock(),
      otherReceives: role === 'worker' || platform.receive !== undefined,
      limit: offer.limit,
      patience: offer.patience,
      spin: offer.spin,
      functions: terms.functions,
      tasks: terms.tasks,
      post: (type, payload, transfer) => this.post(type, payload, transfer),
      receive: platform.receive && (() => this.#receiveNow()),
      broken: (reason) => this.close(reason, true),
      keepAlive: (busy) => {
        if (role === 'worker') this.#port[busy ? 'ref' : 'unref']?.();
      },
    });
    this.#stopListening = listen(
      this.#port,
      (data) => this.receive(data),
      () => {
        // A worker of Node tells itself that it has ended, and why.
        if (terms.base.on === undefined || terms.base.terminate === undefined) {
          this.otherHasEnded(role === 'host' ? workerHasEnded : hostHasEnded);
        }
      },
    );
    this.#port.unref?.();
    // A worker may be bundled for browsers although its host is not.
    if (this.#values && !platform.receive) listen(this.#values, (data) => this.receive(data));
  }

  #rings(memory: SharedArrayBuffer): { reader: RingReader; writer: RingWriter } {
    const capacity = (memory.byteLength - data) / 2;
    const views = new Memory(memory);
    const up = { memory: views, control: upControl, data, capacity };
    const down = { memory: views, control: downControl, data: data + capacity, capacity };
    const [from, to] = this.#terms.role === 'host' ? [up, down] : [down, up];
    return {
      reader: new RingReader(from, () => this.post('room')),
      writer: new RingWriter(to, () => this.post('wake')),
    };
  }

  #cannotBlock(): string | undefined {
    const { role, offer } = this.#terms;
    if (role === 'host') return 'a host calls its worker asynchronously';
    return offer.memory ? undefined : noSharedMemory;
  }

  /**
   * In a browser's worker by its own `postMessage`: in Firefox the messages of a port are held back
   * until a thread that has blocked goes on.
   */
  get #way(): Port {
    const { role, base } = this.#terms;
    const isBrowsers = platform.receive === undefined && base === platform.host;
    return role === 'worker' && isBrowsers ? base : this.#port;
  }

  post(type: string, payload?: unknown, transfer: readonly Transferable[] = []): void {
    const way = (type === 'values' && this.#values) || this.#way;
    way.postMessage(message(this.#terms.offer.id, type, payload), transfer as never);
  }

  /** Receives one message without a return to the event loop; whether there was one. */
  #receiveNow(): boolean {
    const received = platform.receive?.(this.#values ?? this.#port);
    if (received) this.#hear(received.message, true);
    return received !== undefined;
  }

  receive(data: unknown): void {
    this.#hear(data, false);
  }

  /** In the middle of a frame the next must wait. */
  #hear(data: unknown, isInFrame: boolean): void {
    const received = messageOf(data);
    if (received?.[1] !== this.#terms.offer.id) return;
    const [, , type, payload] = received;
    switch (type) {
      case 'frames':
        this.#frames?.receive(payload as ArrayBuffer);
        if (!isInFrame) this.side.pump();
        break;
      case 'values':
        for (const value of payload as unknown[]) this.side.references.arrive(value);
        if (!isInFrame) this.side.pump();
        break;
      case 'wake':
        if (!isInFrame) this.side.pump();
        break;
      case 'room':
        this.side.roomCame();
        break;
      case 'close':
        if (isInFrame) this.close(String(payload));
        else this.otherHasEnded(String(payload));
    }
  }

  get offer(): Offer {
    return this.#terms.offer;
  }

  /** What the other side has said before it ended is heard still. */
  otherHasEnded(reason: string): void {
    if (this.#ended) return;
    this.side.drain();
    this.close(reason);
  }

  /** Ends the bridge on this side, and tells the other if it is there to be told. */
  close(reason: string, tell = false): void {
    // The side may be closed already: one that is blocked learns of the end by itself.
    if (this.#ended) return;
    this.#ended = true;
    if (tell) {
      this.side.deliver();
      this.post('close', otherHasClosed);
    }
    this.side.close(reason);
    this.#stopListening();
    // By another way the message could come later than the news that the port is closed: the other side
    // closes it then.
    if (!tell || this.#way === this.#port) this.#port.close?.();
    this.#values?.close?.();
    this.#terms.ended(reason);
  }
}
