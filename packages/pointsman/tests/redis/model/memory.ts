/**
 * A server in memory for the real client, and connections that are slow, unfair and get lost.
 *
 * Invariant: messages of one connection arrive in order or not at all.
 */
import type {
  CommandConnection,
  ConnectionEvents,
  ConnectionFactory,
  SubscriberConnection,
} from '../../../src/redis/connection/connection.js';
import { channelOf, type Handler } from '../../../src/redis/handlers/handler.js';
import { apply } from '../../../src/shared/protocol/apply.js';
import type { Batch, Reply } from '../../../src/shared/protocol/protocol.js';
import { emptyState, type State } from '../../../src/shared/protocol/state.js';
import { encodeMessage, signMessage } from '../../../src/shared/protocol/wire.js';
import { ConnectionLostError } from '../../../src/shared/store.js';

/** Returns a number in [0, 1). */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Listener = (message: string) => void;

export class Server {
  state: State = emptyState();
  startedAt = -1e9;
  #run = 10_000_001;
  /** The listeners of each channel; one for each connection. */
  readonly channels = new Map<string, Set<Listener>>();
  readonly log: string[] = [];

  note(text: string): void {
    this.log.push(`${Math.round(performance.now())} ${text}`);
  }

  publish(channel: string, message: string): number {
    const listeners = this.channels.get(channel) ?? new Set();
    for (const listener of listeners) listener(message);
    return listeners.size;
  }

  carryOut(base: string, batch: Batch): Reply {
    const reply = apply(this.state, batch, {
      now: Date.now() * 1000 + 500,
      uptime: performance.now() - this.startedAt,
      run: this.run,
      announce: (message) => this.publish(channelOf(base), encodeMessage(message)),
      send: (process, message, secret) => {
        this.note(`tells ${process} ${encodeMessage(message)}`);
        return this.publish(channelOf(base, process), signMessage(message, secret));
      },
    });
    this.note(`${JSON.stringify(batch)} => ${JSON.stringify(reply)}`);
    return reply;
  }

  lose(): void {
    this.note('loses its state');
    this.state = emptyState();
  }

  get run(): string {
    return `${this.#run}`;
  }

  /** Another run has an older state. The caller has cut all connections. */
  replace(older: State): void {
    this.#run += 1;
    this.note(`is replaced by ${this.run}`);
    this.state = older;
    this.startedAt = performance.now();
  }
}

/** Implements the handler `script`. */
export class MemoryHandler implements Handler {
  constructor(
    readonly connection: CommandConnection,
    readonly base: string,
  ) {}

  async prepare(): Promise<void> {
    await this.connection.call('', 'SCRIPT');
  }

  exchange(batch: Batch): Promise<Reply> {
    return (this.connection as Commands).ask((server) => server.carryOut(this.base, batch));
  }
}

/** Milliseconds in transit. */
export type Delay = () => number;

/** Delivers in order, each item after its own delay, until the connection is lost. */
class Way {
  #last = 0;
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  constructor(readonly delay: Delay) {}

  carry(arrive: () => void): void {
    const at = Math.max(performance.now() + this.delay(), this.#last);
    this.#last = at;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      arrive();
    }, at - performance.now());
    this.#timers.add(timer);
  }

  lose(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  /** Stops all delivery. */
  end(): void {
    this.lose();
    this.carry = () => {};
  }
}

/** The connections of one process. */
export class Network implements ConnectionFactory {
  readonly channels = 'plain';
  readonly keyPrefix = '';
  readonly database = 0;
  /** The probability that a command of a lost connection still arrives. */
  late = 0.5;
  /** The probability that a message is lost while its connection stays up. */
  unheard = 0;
  /** The connections, once they are made. */
  forCommands: Commands | undefined;
  forMessages: Subscriptions | undefined;
  #dead = false;

  constructor(
    readonly server: Server,
    readonly delay: Delay,
    readonly random: Random,
  ) {}

  get dead(): boolean {
    return this.#dead;
  }

  /** Ends the process. */
  die(): void {
    this.#dead = true;
    this.forCommands?.cut();
    this.forMessages?.cut();
  }

  commands(events: ConnectionEvents): CommandConnection {
    this.forCommands = new Commands(this, events);
    return this.forCommands;
  }

  subscriptions(events: ConnectionEvents): SubscriberConnection {
    this.forMessages = new Subscriptions(this, events);
    return this.forMessages;
  }
}

abstract class Connection {
  readonly network: Network;
  readonly events: ConnectionEvents;
  up = false;
  #closed = false;

  constructor(network: Network, events: ConnectionEvents) {
    this.network = network;
    this.events = events;
    this.#connect();
  }

  abstract drop(reason: Error): void;
  abstract restore(): void;
  /** Stops all delivery, in both directions. */
  abstract end(): void;

  #connect(): void {
    setTimeout(() => {
      if (this.#closed || this.network.dead) return;
      this.up = true;
      this.restore();
    }, this.network.delay());
  }

  cut(): void {
    if (!this.up) return;
    this.up = false;
    this.network.server.note(`${this.constructor.name} cut`);
    const reason = new ConnectionLostError('cut');
    this.drop(reason);
    if (this.#closed || this.network.dead) return;
    this.events.down(reason);
    this.#connect();
  }

  /** Makes the connection half-open: nothing arrives any more, and neither side gets an error. */
  swallow(): void {
    if (!this.up) return;
    this.network.server.note(`${this.constructor.name} swallowed`);
    this.end();
  }

  reconnect(): void {
    this.cut();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.cut();
  }
}

class Commands extends Connection implements CommandConnection {
  #to = new Way(this.network.delay);
  #from = new Way(this.network.delay);
  readonly #pending = new Set<(reason: Error) => void>();

  call(): Promise<unknown> {
    return this.ask(({ run }) => `redis_version:7.0.0\nrun_id:${run}`);
  }

  ask<T>(question: (server: Server) => T): Promise<T> {
    if (!this.up) return Promise.reject(new ConnectionLostError('down'));
    return new Promise((resolve, reject) => {
      const { server } = this.network;
      const from = this.#from;
      this.#pending.add(reject);
      this.#to.carry(() => {
        const reply = question(server);
        from.carry(() => {
          if (this.#pending.delete(reject)) resolve(reply);
        });
      });
    });
  }

  drop(reason: Error): void {
    if (this.network.random() >= this.network.late) this.#to.lose();
    this.#from.lose();
    this.#to = new Way(this.network.delay);
    this.#from = new Way(this.network.delay);
    for (const reject of [...this.#pending]) reject(reason);
    this.#pending.clear();
  }

  restore(): void {
    this.events.up();
  }

  end(): void {
    this.#to.end();
    this.#from.end();
  }
}

class Subscriptions extends Connection implements SubscriberConnection {
  readonly #wanted = new Map<string, { listener: Listener; confirm: () => void }>();
  /** The server's record of this connection's subscriptions. */
  #known = new Map<string, Listener>();
  /** The server believes forever that a half-open connection listens. */
  #swallowed = false;
  readonly #pings = new Set<(reason: Error) => void>();
  #to = new Way(this.network.delay);
  #from = new Way(this.network.delay);

  subscribe(channel: string, listener: Listener): Promise<void> {
    return new Promise((confirm) => {
      this.#wanted.set(channel, { listener, confirm });
      if (this.up) this.#subscribe(channel, confirm);
    });
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#wanted.get(channel)?.confirm();
    this.#wanted.delete(channel);
    if (!this.up) return;
    const known = this.#known;
    this.#to.carry(() => this.#forget(known, channel));
  }

  ping(): Promise<void> {
    if (!this.up) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const from = this.#from;
      this.#pings.add(reject);
      this.#to.carry(() => {
        from.carry(() => {
          if (this.#pings.delete(reject)) resolve();
        });
      });
    });
  }

  #subscribe(channel: string, confirm: () => void): void {
    const { channels } = this.network.server;
    const known = this.#known;
    const from = this.#from;
    this.#to.carry(() => {
      const heard = (message: string): void => {
        const { random, unheard } = this.network;
        if (random() >= unheard) from.carry(() => this.#wanted.get(channel)?.listener(message));
      };
      this.#forget(known, channel);
      const listeners = channels.get(channel) ?? new Set();
      channels.set(channel, listeners.add(heard));
      known.set(channel, heard);
      from.carry(confirm);
    });
  }

  #forget(known: Map<string, Listener>, channel: string): void {
    const listener = known.get(channel);
    if (listener !== undefined) this.network.server.channels.get(channel)?.delete(listener);
    known.delete(channel);
  }

  drop(reason: Error): void {
    const known = this.#known;
    // Until the server notices the loss, it believes that the connection listens.
    if (!this.#swallowed) {
      setTimeout(() => {
        for (const channel of [...known.keys()]) this.#forget(known, channel);
      }, this.network.delay());
    }
    this.#swallowed = false;
    this.#known = new Map();
    this.#to.lose();
    // Messages that the server still sends are lost.
    this.#from.end();
    this.#to = new Way(this.network.delay);
    this.#from = new Way(this.network.delay);
    for (const reject of this.#pings) reject(reason);
    this.#pings.clear();
  }

  restore(): void {
    let missing = this.#wanted.size + 1;
    const confirmed = (): void => {
      if (--missing === 0) this.events.up();
    };
    for (const [channel, { confirm }] of this.#wanted) {
      this.#subscribe(channel, () => {
        confirm();
        confirmed();
      });
    }
    confirmed();
  }

  end(): void {
    this.#swallowed = true;
    this.#to.end();
    this.#from.end();
  }
}
