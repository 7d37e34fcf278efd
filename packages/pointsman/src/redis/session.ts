/**
 * What one process is to the server: a lease, the requests that it holds or waits with, and the stream
 * of batches that keeps both sides in step.
 *
 * Invariants:
 * - A request is granted to its owner only while the session's lease is valid here. A grant that comes
 *   with less is confirmed by the server first.
 * - Operations reach the server in the order in which they were asked for. One without an answer is
 *   sent again after a loss, under a higher incarnation, so that its first copy is refused if it comes
 *   late. Of a request at most one `lock` is without an answer.
 * - When the lease has run out, or the server no longer knows the session, everything held is lost at
 *   once, and a new session is begun under a new name: nothing said to the old one is taken for its own.
 *
 * Operations asked for in one tick travel in one batch. While nothing is held or waited for there is no
 * heartbeat, and the server forgets the session by itself.
 */

import { ConnectionLostError } from './connection/connection.js';
import { LockLostError, RedisLockError } from './errors.js';
import { channelOf, type Handler, keysOf } from './handlers/handler.js';
import { Lease, type Moment, now } from './lease.js';
import type { Link, Linked } from './link.js';
import type { Metrics } from './metrics.js';
import type { Grant, Join, Operation, Reply, Result } from './protocol/protocol.js';
import { decodeMessage } from './protocol/wire.js';

/** A request to the server for a set of keys. Its owner is told what becomes of it. */
export interface Claim {
  readonly keys: readonly string[];
  /** Those that it holds: fewer than `keys` when some have gone back, more when it took others along. */
  readonly owned: readonly string[];
  /** How many fencing tokens to reserve. */
  readonly tokens: number;
  /** Whether its owner gives the keys back when somebody else waits for them. */
  readonly revocable: boolean;
  /** Whether to queue if the keys are not free. */
  readonly wait: boolean;
  /** Keys to take along if nobody holds or wants them; asked once, when the batch is put together. */
  optional?(): readonly string[];
  granted(grant: Grant): void;
  /** The keys are not free, and it was not to wait. */
  busy?(): void;
  /** Somebody else waits for one of the keys that it holds. */
  revoked?(): void;
  /** Held, it is lost. Waiting, it has been forgotten and may be asked for again. */
  lost(error: LockLostError): void;
  /** The server refuses it. It is neither held nor waiting. */
  refused(error: RedisLockError): void;
}

/** Operations that travel together. */
interface Sent {
  readonly sendings: readonly Sending[];
  readonly at: Moment;
  /** Whether this process would have heard of a loss of the state since. */
  readonly alarmed: boolean;
}

/** An operation on its way. */
interface Sending {
  /** Undefined if there is nothing left to ask for. */
  operation(): Operation | undefined;
  done(result: Result, alarmed: boolean): void;
  /** The server has refused the batch. */
  failed(error: RedisLockError): void;
  /** The session has ended before there was an answer. */
  lost(): void;
}

type Waiting = { readonly claim: Claim; readonly id: string };

/** Operations in a batch: the server does nothing else meanwhile. */
const BATCH = 256;
/** Milliseconds that a connection may take to be made, however short the leases are. */
const PATIENCE = 1_000;
/** Operations that do not depend on which session asks. */
const ANYBODYS: ReadonlySet<Operation['name']> = new Set(['query', 'notify', 'reserve']);

export class Session implements Linked {
  readonly handler: Handler;
  readonly ttl: number;
  readonly lease = new Lease();
  readonly #link: Link;
  readonly #base: string;
  readonly #process: string;
  readonly #metrics: Metrics;
  readonly #held = new Map<string, Claim>();
  readonly #asked = new Map<string, Claim>();
  readonly #ids = new Map<Claim, string>();
  /** The optional keys that each request was sent with. */
  readonly #along = new Map<string, readonly string[]>();
  /** Requests whose `lock` has no answer yet: of two copies of a try one could fail, the other not. */
  readonly #locking = new Set<string>();
  /** Requests that were asked to come back before they were known to be granted. */
  readonly #early = new Set<string>();
  #epoch = 0;
  #incarnation = 0;
  #requests = 0;
  /** Whether the server must know the session: only if something of it could be lost. */
  #join: Join = 'new';
  #outbox: Sending[] = [];
  /** Sent and not answered, in order. */
  #sent: Sent[] = [];
  #scheduled = false;
  #suspended: unknown = new ConnectionLostError('not connected yet');
  /** Which run of which server it has spoken to last. */
  #server: string | undefined;
  /** Whether it hears what is said to it. */
  #listening: 'no' | 'soon' | 'yes' = 'no';
  #giveUpTimer: NodeJS.Timeout | undefined;
  #beatTimer: NodeJS.Timeout | undefined;
  #lapseTimer: NodeJS.Timeout | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  #sweepAt = Number.POSITIVE_INFINITY;
  /** Whether the server is being asked because the clocks have moved apart. */
  #doubting = false;
  #closed = false;

  constructor(
    link: Link,
    handler: Handler,
    base: string,
    process: string,
    ttl: number,
    metrics: Metrics,
  ) {
    this.#link = link;
    this.handler = handler;
    this.#base = base;
    this.#process = process;
    this.ttl = ttl;
    this.#metrics = metrics;
    link.add(this);
  }

  get key(): string {
    return keysOf(this.#base)[0];
  }

  get id(): string {
    return `${this.#process}.${this.#epoch}`;
  }

  /** Asks the server for a claim's keys. */
  ask(claim: Claim): void {
    const id = `${this.id}/${++this.#requests}${claim.revocable ? '~' : ''}`;
    this.#asked.set(id, claim);
    this.#ids.set(claim, id);
    this.#lock({ claim, id });
  }

  /**
   * Gives back keys of a claim, or takes it out of the queue. Resolves when the server has done so, or
   * when the session has ended, which comes to the same.
   */
  giveBack(claim: Claim, keys: readonly string[], all: boolean): Promise<void> {
    const id = this.#ids.get(claim);
    if (id === undefined) return Promise.resolve();
    // What is still asked for may have been granted by now, with all that it takes along.
    const freed = this.#asked.has(id) ? this.#wantedBy({ claim, id }) : keys;
    if (all) this.#forget(id, claim);
    return this.#unlock(id, freed);
  }

  /** Whether nothing is held and nobody waits. */
  get idle(): boolean {
    return this.#held.size + this.#asked.size === 0;
  }

  idOf(claim: Claim): string | undefined {
    return this.#ids.get(claim);
  }

  /**
   * Parks a claim at a condition. Resolves when it is parked; then it will be granted like another. If
   * it rejects, the claim has to be given back: it may have been asked for anew.
   */
  park(claim: Claim, condition: string): Promise<void> {
    const id = `${this.id}/${++this.#requests}`;
    this.#asked.set(id, claim);
    this.#ids.set(claim, id);
    const { keys } = claim;
    return this.#request({ name: 'wait', id, condition, keys }).then(() => {});
  }

  /** One operation with a number for an answer. */
  async number(operation: Operation): Promise<number> {
    const result = await this.#request(operation);
    return (result as Result & { name: 'number' }).value;
  }

  async query() {
    const result = await this.#request({ name: 'query' });
    return (result as Result & { name: 'query' }).state;
  }

  /** Renews the lease. Rejects if the session has ended by then. */
  async renew(): Promise<void> {
    await this.#request({ name: 'renew' });
  }

  /** Ends the session on the server too. Its owner has dealt with all claims. */
  async close(): Promise<void> {
    if (this.#listening === 'yes' && this.#suspended === undefined) {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        this.#request({ name: 'leave', session: this.id }).catch(() => {}),
        // A server that does not answer ends the session by itself.
        new Promise((resolve) => {
          timer = setTimeout(resolve, this.ttl);
        }),
      ]);
      clearTimeout(timer);
    }
    this.#closed = true;
    for (const sending of this.#unanswered) sending.lost();
    this.#sent = [];
    this.#link.unlisten(channelOf(this.#base), this.#listener);
    this.#link.unlisten(channelOf(this.#base, this.#process), this.#listener);
    this.#link.delete(this);
    for (const timer of [this.#giveUpTimer, this.#beatTimer, this.#lapseTimer, this.#sweepTimer]) {
      clearTimeout(timer);
    }
  }

  /** What was sent and what was not yet, in order. */
  get #unanswered(): Sending[] {
    return [...this.#sent.flatMap(({ sendings }) => sendings), ...this.#outbox];
  }

  suspend(reason: unknown): void {
    this.#suspended = reason;
    // What has no answer goes first when it is sent again.
    this.#outbox = this.#unanswered;
    this.#sent = [];
    if (reason instanceof ConnectionLostError) this.#giveUpInTime();
    else this.#refuse(reason);
  }

  resume(server = this.#server): void {
    const replaced = this.#server !== undefined && server !== this.#server;
    this.#server = server;
    clearTimeout(this.#giveUpTimer);
    this.#giveUpTimer = undefined;
    this.#suspended = undefined;
    this.#incarnation++;
    // It may have missed the last that was done, and bring back what had been given back.
    if (replaced) this.#lose('another server has taken over');
    this.recheck();
    this.#flush();
  }

  recheck(): void {
    if (this.#suspended !== undefined) return;
    for (const [id, claim] of this.#asked) this.#lock({ claim, id });
    for (const [id, claim] of this.#held) this.#send(this.#checkOf({ claim, id }));
  }

  /** Whoever waits is not left alone with a server that cannot be reached. */
  #giveUpInTime(): void {
    this.#giveUpTimer ??= setTimeout(
      () => {
        this.#giveUpTimer = undefined;
        this.#refuse(this.#suspended);
      },
      Math.max(this.ttl, PATIENCE),
    ).unref();
  }

  /** Subscribes, and sends only then: a process that does not listen loses its turn. */
  #listen(): void {
    this.#listening = 'soon';
    this.#link.listen(channelOf(this.#base, this.#process), this.#listener).then(
      () => {
        this.#listening = 'yes';
        this.#flush();
      },
      (error) => {
        this.#listening = 'no';
        if (!this.#closed) this.#refuse(error);
      },
    );
  }

  readonly #listener = (text: string): void => {
    const message = decodeMessage(text);
    if (message.name === 'held') {
      this.#grant(message.grant, this.#alarmed);
    } else if (message.name === 'revoke') {
      // It may come before the answer that tells of the grant: then the claim is not held yet, and
      // whoever waits is found by the check that follows.
      const claim = this.#held.get(message.id);
      if (claim !== undefined) claim.revoked?.();
      else if (this.#asked.has(message.id)) this.#early.add(message.id);
    } else if (this.#join === 'must') {
      this.#send(this.#renewal());
    }
  };

  /** Listens where the loss of the state is announced, as everybody does who holds something. */
  #alarm(): Promise<void> {
    return this.#link.listen(channelOf(this.#base), this.#listener);
  }

  get #alarmed(): boolean {
    return this.#link.hears(channelOf(this.#base), this.#listener);
  }

  /** `alarmed`: whether this process would have heard of a loss of the state since the grant. */
  #grant(grant: Grant, alarmed: boolean): void {
    const { id } = grant;
    const claim = this.#asked.get(id);
    if (claim === undefined) return;
    if (!this.lease.lasting) {
      // The grant, or the news of it, took as long as the lease. Does the server still agree?
      this.#send(this.#renewal());
      this.#lock({ claim, id });
      return;
    }
    if (!alarmed) {
      // If the connection for messages is down, all that is asked for is sent again when it is up.
      this.#alarm().then(
        () => {
          if (this.#alarmed) this.#lock({ claim, id });
        },
        (error) => this.#refuse(error),
      );
      return;
    }
    this.#asked.delete(id);
    this.#held.set(id, claim);
    this.#metrics.grants++;
    const contended = this.#early.delete(id) || grant.contended;
    claim.granted({ ...grant, contended });
  }

  #forget(id: string, claim: Claim): void {
    this.#asked.delete(id);
    this.#held.delete(id);
    this.#early.delete(id);
    this.#along.delete(id);
    this.#ids.delete(claim);
    if (this.#join === 'must' && this.idle) this.#join = 'new';
  }

  #alongWith({ claim, id }: Waiting): readonly string[] {
    const keys = this.#along.get(id) ?? claim.optional?.() ?? [];
    if (keys.length > 0) this.#along.set(id, keys);
    return keys;
  }

  #wantedBy({ claim, id }: Waiting): readonly string[] {
    return [...claim.keys, ...(this.#along.get(id) ?? [])];
  }

  /** Asks for a request's keys, or how it stands, unless that is being asked already. */
  #lock({ claim, id }: Waiting): void {
    if (this.#locking.has(id)) return;
    this.#locking.add(id);
    const { tokens, wait, keys } = claim;
    const over = (): void => {
      this.#locking.delete(id);
    };
    this.#send({
      operation: () => {
        if (this.#asked.has(id)) {
          return { name: 'lock', id, tokens, wait, keys, optional: this.#alongWith({ claim, id }) };
        }
        over();
        return undefined;
      },
      done: (result, alarmed) => {
        over();
        if (result.name === 'held') {
          this.#grant(result.grant, alarmed);
        } else if (result.name === 'queued') {
          this.#sweepIn(result.left);
          if (!this.#alarmed) this.#alarm().catch(() => {});
        } else if (this.#asked.has(id)) {
          this.#forget(id, claim);
          claim.busy?.();
        }
      },
      failed: (error) => {
        over();
        if (!this.#asked.has(id)) return;
        // It may have been granted before the server refused what came after it in the batch.
        void this.#unlock(id, this.#wantedBy({ claim, id }));
        this.#forget(id, claim);
        claim.refused(error);
      },
      lost: over,
    });
  }

  #checkOf({ claim, id }: Waiting): Sending {
    return {
      operation: () => (this.#held.has(id) ? { name: 'check', id, keys: claim.owned } : undefined),
      done: (result) => {
        if (result.name !== 'check' || !this.#held.has(id)) return;
        if (!result.held) {
          this.#forget(id, claim);
          this.#metrics.losses++;
          claim.lost(new LockLostError('the server no longer has the lock'));
        } else if (result.contended) {
          claim.revoked?.();
        }
      },
      failed: () => {},
      lost: () => {},
    };
  }

  #renewal(): Sending {
    return {
      operation: () => ({ name: 'renew' }),
      done: (result) => {
        if (result.name === 'renewed' && result.next !== undefined) this.#sweepIn(result.next);
      },
      failed: () => {},
      lost: () => {},
    };
  }

  #unlock(id: string, keys: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const sending: Sending = {
        operation: () => ({ name: 'unlock', id, keys }),
        done: () => resolve(),
        // Refused. It has to go, or the server will keep it for as long as it knows the session.
        failed: () => {
          const present = id.startsWith(`${this.id}/`);
          if (present && this.lease.left > 0) {
            setTimeout(() => this.#send(sending), this.ttl / 3).unref();
            return;
          }
          if (present) this.#lose('its lease ran out before it was given back');
          resolve();
        },
        lost: resolve,
      };
      this.#send(sending);
    });
  }

  #request(operation: Operation): Promise<Result> {
    return new Promise((resolve, reject) => {
      const sending: Sending = {
        operation: () => operation,
        done: resolve,
        failed: reject,
        // Some can be done by the next session as well.
        lost: () =>
          ANYBODYS.has(operation.name) && !this.#closed
            ? this.#send(sending)
            : reject(new LockLostError('the session has ended')),
      };
      this.#send(sending);
    });
  }

  #send(sending: Sending): void {
    this.#outbox.push(sending);
    this.#wake();
    if (this.#suspended === undefined) {
      if (this.#scheduled) return;
      this.#scheduled = true;
      queueMicrotask(() => {
        this.#scheduled = false;
        this.#flush();
      });
    } else if (this.#suspended instanceof ConnectionLostError) {
      this.#giveUpInTime();
    } else {
      // The server has refused to be used; it may think differently by now.
      this.#suspended = new ConnectionLostError('trying again', { cause: this.#suspended });
      void this.#link.renew();
    }
  }

  #flush(): void {
    if (this.#listening === 'no' && this.#suspended === undefined) this.#listen();
    if (this.#listening !== 'yes') return;
    while (this.#suspended === undefined && this.#outbox.length > 0) {
      const sendings: Sending[] = [];
      const operations: Operation[] = [];
      for (const sending of this.#outbox.splice(0, BATCH)) {
        const operation = sending.operation();
        if (operation === undefined) continue;
        sendings.push(sending);
        operations.push(operation);
      }
      if (operations.length > 0) this.#exchange(sendings, operations);
    }
  }

  #exchange(sendings: readonly Sending[], operations: readonly Operation[]): void {
    const alarmed = this.#alarmed;
    const sent = { sendings, at: now(), alarmed };
    const batch = {
      session: this.id,
      ttl: this.ttl,
      incarnation: this.#incarnation,
      // What has no answer yet has begun the session, and may have been granted something by now.
      join: this.#sent.length > 0 ? ('must' as const) : this.#join,
      // Another session of this process that listens holds something, and is counted like anybody.
      listening: alarmed && this.#link.listenersIn(channelOf(this.#base)) === 1,
      operations,
    };
    this.#sent.push(sent);
    this.#metrics.batches++;
    this.handler.exchange(batch).then(
      (reply) => {
        if (this.#answered(sent)) this.#receive(reply, sent);
      },
      (error) => {
        if (!this.#sent.includes(sent)) return;
        if (error instanceof ConnectionLostError) {
          // Not the connection itself: the server has forgotten what was prepared.
          if (error.cause !== undefined) void this.#link.renew();
          return;
        }
        this.#answered(sent);
        const refusal = refusalOf(error);
        for (const sending of sendings) sending.failed(refusal);
      },
    );
  }

  #answered(sent: Sent): boolean {
    const index = this.#sent.indexOf(sent);
    if (index >= 0) this.#sent.splice(index, 1);
    return index >= 0;
  }

  #receive(reply: Reply, { sendings, at, alarmed }: Sent): void {
    if (reply.name === 'stale') return;
    if (reply.name === 'lost') {
      for (const sending of sendings) sending.lost();
      this.#lose('the server no longer knows this session');
      return;
    }
    this.lease.renew(at, reply.left);
    this.#doubting = false;
    reply.results.forEach((result, i) => {
      sendings[i]?.done(result, alarmed);
    });
    for (const grant of reply.grants) this.#grant(grant, alarmed);
    if (!this.idle) {
      this.#join = 'must';
      this.#watchLapse();
    }
  }

  #lose(reason: string): void {
    const error = new LockLostError(reason);
    const before = this.id;
    const sendings = this.#unanswered;
    const held = [...this.#held.values()];
    const asked = [...this.#asked.values()];
    this.#sent = [];
    this.#outbox = [];
    this.#held.clear();
    this.#asked.clear();
    this.#ids.clear();
    this.#early.clear();
    this.#locking.clear();
    this.#along.clear();
    this.#epoch++;
    this.#join = 'again';
    this.lease.end();
    void this.#request({ name: 'leave', session: before }).catch(() => {});
    this.#metrics.losses += held.length;
    for (const sending of sendings) sending.lost();
    for (const claim of held) claim.lost(error);
    for (const claim of asked) claim.lost(error);
  }

  /** The server cannot be used: nobody is left to wait for it. */
  #refuse(reason: unknown): void {
    const refusal = refusalOf(reason);
    const asked = [...this.#asked.values()];
    const sendings = this.#outbox;
    this.#outbox = [];
    for (const claim of asked) {
      const id = this.#ids.get(claim) as string;
      void this.#unlock(id, this.#wantedBy({ claim, id }));
      this.#forget(id, claim);
      claim.refused(refusal);
    }
    for (const sending of sendings) sending.failed(refusal);
  }

  /** Sees to it that there is a heartbeat while anything is held, waited for or without an answer. */
  #wake(): void {
    if (this.#beatTimer !== undefined || this.#closed) return;
    this.#beatTimer = setTimeout(() => {
      this.#beatTimer = undefined;
      if (this.idle) {
        if (this.#sent.length + this.#outbox.length === 0) {
          this.#link.unlisten(channelOf(this.#base), this.#listener);
          return;
        }
        // What should go back has ended with its lease, whether the server has heard of it or not.
        if (this.lease.left <= 0) this.#lose('its lease ran out before it was given back');
      }
      const unanswered = this.#sent[0];
      if (unanswered !== undefined && now().monotonic - unanswered.at.monotonic > this.ttl) {
        this.#link.reconnect();
      }
      this.#link.probe(this.ttl);
      if (this.#suspended === undefined && !this.idle) {
        this.#send(this.#renewal());
        // A message can be lost without the connection: then this is how it is found out.
        this.recheck();
      }
      this.#wake();
    }, this.ttl / 3).unref();
  }

  /** Loses what is held when its lease runs out. */
  #watchLapse(): void {
    this.#lapseTimer ??= setTimeout(() => {
      this.#lapseTimer = undefined;
      if (this.checkLease() || this.lease.left > 0) this.#watchLapse();
    }, Math.max(this.lease.left, 0) + 1).unref();
  }

  /** Whether the lease is valid. If it has run out, what is held is lost now; if in doubt, it asks. */
  checkLease(): boolean {
    if (this.lease.valid) return true;
    if (this.#held.size > 0) {
      if (this.lease.left <= 0) {
        this.#lose('its lease ran out before it could be renewed');
      } else if (!this.#doubting) {
        this.#doubting = true;
        this.#send(this.#renewal());
      }
    }
    return false;
  }

  /** Ends dead sessions when the next one's lease runs out. */
  #sweepIn(left: number): void {
    const at = performance.now() + left + 1;
    if (at >= this.#sweepAt || left === Number.POSITIVE_INFINITY) return;
    clearTimeout(this.#sweepTimer);
    this.#sweepAt = at;
    this.#sweepTimer = setTimeout(() => {
      this.#sweepAt = Number.POSITIVE_INFINITY;
      if (this.#asked.size > 0 && this.#suspended === undefined) this.#send(this.#renewal());
    }, left + 1).unref();
  }
}

function refusalOf(error: unknown): RedisLockError {
  if (error instanceof RedisLockError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new RedisLockError(`the server cannot be used: ${message}`, { cause: error });
}
