/**
 * What is the same for all libraries: connections that are made again when they are lost.
 *
 * A line is one client of a library that connects once: it becomes ready at most once, and is lost at
 * most once. A connection here is a sequence of lines, in a cluster one sequence per slot. Invariant:
 * a command is given to one line only, so that no library can send it a second time.
 */

import type {
  CommandConnection,
  ConnectionEvents,
  ConnectionFactory,
  SubscriberConnection,
} from './connection.js';
import { ConnectionLostError, isReply } from './lost.js';

export interface Line {
  send(command: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  /** Asks the server for any answer, on a line for subscriptions. */
  ping(): Promise<unknown>;
  /** Closes the socket at once. Commands without a reply reject. */
  destroy(): void;
}

export interface LineEvents {
  ready(): void;
  lost(reason: unknown): void;
}

export interface Lines {
  readonly keyPrefix: string;
  /** The slot of a key in a cluster; undefined where all keys are in one place. */
  readonly slotOf?: (key: string) => number;
  /** Opens a line to where `key` is. */
  open(purpose: 'commands' | 'subscriptions', events: LineEvents, key: string): Promise<Line>;
}

/** How long a line may take to become ready: a half-open connection never does. */
const patience = 3_000;
const firstRetry = 50;
const lastRetry = 1_000;

/** Where a cluster has moved the slot to is found by connecting again. */
const moved = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

export function connectionsOver(lines: Lines): ConnectionFactory {
  const all = new Set<Links>();
  return {
    channels: lines.slotOf ? 'sharded' : 'plain',
    keyPrefix: lines.keyPrefix,
    commands: (events) => new Commands(lines, events, all),
    subscriptions: (events) => new Subscriptions(lines, events, all),
  };
}

/** A sequence of lines to one place. */
class Link {
  /** The line that is in use. */
  line: Line | undefined;
  /** Why there is none. */
  reason: unknown;
  /** What waits for the first attempt to come to an end. */
  held: (() => void)[] | undefined = [];
  readonly #open: (events: LineEvents) => Promise<Line>;
  readonly #prepare: (link: Link, line: Line) => Promise<void>;
  readonly #changed: (link: Link) => void;
  /** Loses the line that is in use or being opened. */
  #lose: ((reason: unknown, again: number) => void) | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;

  constructor(
    open: (events: LineEvents) => Promise<Line>,
    prepare: (link: Link, line: Line) => Promise<void>,
    changed: (link: Link) => void,
  ) {
    this.#open = open;
    this.#prepare = prepare;
    this.#changed = changed;
    this.#connect();
  }

  #connect(): void {
    let current: Line | undefined;
    let over = false;
    const lose = (reason: unknown, again: number): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      this.#lose = undefined;
      this.line = undefined;
      this.reason = reason;
      current?.destroy();
      if (again < Number.POSITIVE_INFINITY) {
        this.#retry = setTimeout(() => this.#connect(), again);
      }
      this.#settle();
    };
    const lost = (reason: unknown): void =>
      lose(reason, Math.min(firstRetry * 2 ** this.#failures++, lastRetry));
    const ready = async (): Promise<void> => {
      const line = await opened;
      await this.#prepare(this, line);
      if (over) return;
      clearTimeout(timer);
      this.#failures = 0;
      this.line = line;
      // What has been asked for since the preparation ended has not found the line yet.
      this.#prepare(this, line).catch(lost);
      this.#settle();
    };
    const timer = setTimeout(
      () => lost(new Error(`no connection within ${patience} ms`)),
      patience,
    );
    this.#lose = lose;
    const opened = this.#open({ ready: () => ready().catch(lost), lost });
    opened.then((line) => {
      current = line;
      if (over) line.destroy();
    }, lost);
  }

  #settle(): void {
    const held = this.held;
    this.held = undefined;
    for (const proceed of held ?? []) proceed();
    this.#changed(this);
  }

  drop(reason: unknown, again: number): void {
    if (this.line) this.#lose?.(reason, again);
  }

  close(reason: unknown): void {
    clearTimeout(this.#retry);
    this.#lose?.(reason, Number.POSITIVE_INFINITY);
  }
}

/** The links of one connection, and whether all of them stand. */
abstract class Links {
  readonly #lines: Lines;
  readonly #purpose: 'commands' | 'subscriptions';
  readonly #events: ConnectionEvents;
  readonly #all: Set<Links>;
  readonly #links = new Map<number, Link>();
  #state: 'new' | 'up' | 'down' | 'closed' = 'new';

  constructor(
    lines: Lines,
    purpose: 'commands' | 'subscriptions',
    events: ConnectionEvents,
    all: Set<Links>,
  ) {
    this.#lines = lines;
    this.#purpose = purpose;
    this.#events = events;
    this.#all = all;
    all.add(this);
    // Which places of a cluster are needed shows with the first key.
    if (lines.slotOf) queueMicrotask(() => this.#changed());
    else this.linkOf('');
  }

  protected prepare(_link: Link, _line: Line): Promise<void> {
    return Promise.resolve();
  }

  protected linkOf(key: string): Link {
    if (this.#state === 'closed') throw new ConnectionLostError('The connection is closed');
    const slot = this.#lines.slotOf?.(key) ?? 0;
    let link = this.#links.get(slot);
    if (!link) {
      link = new Link(
        (events) => this.#lines.open(this.#purpose, events, key),
        (link, line) => this.prepare(link, line),
        (link) => this.#changed(link),
      );
      this.#links.set(slot, link);
    }
    return link;
  }

  /** Those that stand. */
  protected get lines(): Line[] {
    return [...this.#links.values()].flatMap(({ line }) => line ?? []);
  }

  #changed(link?: Link): void {
    if (this.#state === 'closed') return;
    if (link && !link.line) {
      if (this.#state === 'down') return;
      this.#state = 'down';
      this.#events.down(lost(link.reason));
    } else if (this.#state !== 'up') {
      for (const { line } of this.#links.values()) if (!line) return;
      this.#state = 'up';
      this.#events.up();
    }
  }

  /** What a failed command rejects with. */
  protected explain(key: string, error: unknown): unknown {
    if (!isReply(error)) return lost(error);
    if (!this.#lines.slotOf || !moved.test(error.message)) return error;
    const slot = this.#lines.slotOf(key);
    // Not every version of the libraries tells a subscriber that its channel has moved.
    for (const links of this.#all) links.#links.get(slot)?.drop(error, firstRetry);
    return lost(error);
  }

  reconnect(): void {
    for (const link of this.#links.values())
      link.drop(new ConnectionLostError('The connection was dropped'), 0);
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    this.#all.delete(this);
    for (const link of this.#links.values()) {
      link.close(new ConnectionLostError('The connection is closed'));
    }
  }
}

class Commands extends Links implements CommandConnection {
  constructor(lines: Lines, events: ConnectionEvents, all: Set<Links>) {
    super(lines, 'commands', events, all);
  }

  call(key: string, ...command: string[]): Promise<unknown> {
    let link: Link;
    try {
      link = this.linkOf(key);
    } catch (error) {
      return Promise.reject(error);
    }
    // Not an async function: its own promise and its await cost two microseconds for each command.
    const send = (): Promise<unknown> =>
      link.line ? link.line.send(command) : Promise.reject(lost(link.reason));
    const { held } = link;
    const reply = held ? new Promise((resolve) => held.push(() => resolve(send()))) : send();
    return reply.catch((error) => {
      throw this.explain(key, error);
    });
  }
}

interface Subscription {
  readonly link: Link;
  readonly listener: (message: string) => void;
  /** The line by which the server has confirmed it last. */
  line: Line | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

class Subscriptions extends Links implements SubscriberConnection {
  readonly #channels = new Map<string, Subscription>();

  constructor(lines: Lines, events: ConnectionEvents, all: Set<Links>) {
    super(lines, 'subscriptions', events, all);
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    const link = this.linkOf(channel);
    await new Promise<void>((resolve, reject) => {
      const subscription: Subscription = {
        link,
        // A message may still come after the subscription has ended.
        listener: (message) => {
          if (this.#channels.get(channel) === subscription) listener(message);
        },
        line: undefined,
        resolve,
        reject,
      };
      this.#channels.set(channel, subscription);
      // What is lost with the line, the next one does again.
      if (link.line) this.#confirm(channel, subscription, link.line).catch(() => {});
    });
  }

  async unsubscribe(channel: string): Promise<void> {
    const subscription = this.#channels.get(channel);
    if (!subscription) return;
    this.#channels.delete(channel);
    subscription.resolve();
    try {
      await subscription.link.line?.unsubscribe(channel);
    } catch (error) {
      if (isReply(error)) throw error;
    }
  }

  async ping(): Promise<void> {
    await Promise.all(
      this.lines.map((line) =>
        line.ping().catch((error) => {
          if (!isReply(error)) throw lost(error);
        }),
      ),
    );
  }

  async #confirm(channel: string, subscription: Subscription, line: Line): Promise<void> {
    try {
      await line.subscribe(channel, subscription.listener);
    } catch (error) {
      const reason = this.explain(channel, error);
      if (subscription.line || reason instanceof ConnectionLostError) throw reason;
      this.#channels.delete(channel);
      subscription.reject(reason);
      return;
    }
    subscription.line = line;
    subscription.resolve();
  }

  protected override async prepare(link: Link, line: Line): Promise<void> {
    for (;;) {
      const missing = [...this.#channels].filter(
        ([, subscription]) => subscription.link === link && subscription.line !== line,
      );
      if (missing.length === 0) return;
      await Promise.all(
        missing.map(([channel, subscription]) => this.#confirm(channel, subscription, line)),
      );
    }
  }

  override async close(): Promise<void> {
    await super.close();
    for (const subscription of this.#channels.values()) {
      subscription.reject(new ConnectionLostError('The connection is closed'));
    }
    this.#channels.clear();
  }
}

function lost(cause: unknown): ConnectionLostError {
  if (cause instanceof ConnectionLostError) return cause;
  const why = cause instanceof Error && cause.message ? `: ${cause.message}` : '';
  return new ConnectionLostError(`The connection to the server is lost${why}`, { cause });
}
