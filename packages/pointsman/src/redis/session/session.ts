/**
 * What one process is to the server: a lease, the claims that it holds or waits with, and a stream of
 * batches.
 *
 * Invariants:
 * - A claim is granted to its owner only while the session's lease is valid here. A grant that comes
 *   with less is confirmed by the server first.
 * - Nothing is valid while a loss of the state would not be heard of, nor before the server has
 *   confirmed, since it would be, that the session is as it was.
 * - When the lease has run out, or the server no longer knows the session, everything held is lost at
 *   once, and a new session is begun under a new name: nothing said to the old one is taken for its own.
 *
 * While nothing is held or waited for there is no heartbeat, and the server forgets the session by itself.
 */

import { randomBytes } from 'node:crypto';
import { ConnectionLostError } from '../connection/connection.js';
import type { ConnectionObserver, Connections } from '../connections.js';
import { LockLostError, type RedisLockError, refusalOf } from '../errors.js';
import { channelBaseOf, channelOf, type Handler, keysOf } from '../handlers/handler.js';
import { Lease, now, Witness } from '../lease.js';
import type { Metrics } from '../metrics.js';
import type { Batch, Grant, Join, Operation, Reply, Result } from '../protocol/protocol.js';
import { openMessage } from '../protocol/wire.js';
import { BatchStream, type PendingOperation, type SentBatch } from './batches.js';
import { checkOperation, lockOperation } from './claim-operations.js';
import { ActiveClaim, type Claim, Claims } from './claims.js';
import { OneShotTimer } from './one-shot-timer.js';

/** Milliseconds that a connection may take to be made, however short the leases are. */
const PATIENCE = 1_000;
/** Operations that do not depend on which session asks. */
const ANYBODYS: ReadonlySet<Operation['name']> = new Set(['query', 'notify', 'reserve', 'take']);

export class Session implements ConnectionObserver {
  readonly handler: Handler;
  readonly ttl: number;
  readonly label: string;
  readonly lease = new Lease();
  readonly #connections: Connections;
  /** A key of its own, which says where it is in a cluster. */
  readonly key: string;
  readonly #process: string;
  readonly #base: string;
  /** Where it is spoken to, and where all who hold something are. */
  #ownChannel = '';
  #commonChannel = '';
  readonly #metrics: Metrics;
  readonly #claims = new Claims();
  readonly #stream: BatchStream;
  #epoch = 0;
  /** The server signs messages to this session with it: other clients may publish in its channel. */
  readonly #secret = randomBytes(12).toString('base64url');
  /** The highest token of a grant. */
  #token = 0;
  #requests = 0;
  /** Whether the server must know the session: only if something of it could be lost. */
  #join: Join = 'new';
  /** Which run of which server it has spoken to last. */
  #server: string | undefined;
  readonly #witness = new Witness();
  /** Whether it hears what is said to it. */
  #listening: 'no' | 'soon' | 'yes' = 'no';
  /** Refuses whoever waits for a server that cannot be reached. */
  readonly #unreachable = new OneShotTimer(() => this.#refuse(this.#stream.suspended));
  readonly #heartbeat = new OneShotTimer(() => this.#beat());
  /** Loses what is held when its lease runs out. */
  readonly #lapse = new OneShotTimer(() => {
    if (this.checkLease() || this.lease.left > 0) this.#watchLapse();
  });
  /** Ends dead sessions when the next one's lease runs out. */
  readonly #sweep = new OneShotTimer(() => {
    this.#sweepAt = Number.POSITIVE_INFINITY;
    if (this.#claims.in('asked').length > 0 && this.#stream.suspended === undefined) this.#ask();
  });
  #sweepAt = Number.POSITIVE_INFINITY;
  /** `alarmed`, when the server confirmed the session last. */
  #confirmed = 0;
  /** Since when something is held and a loss of the state might not be heard of. */
  #deafSince: number | undefined;
  /** Who waits until what is held is beyond doubt. */
  #unsure: { resolve(): void; reject(error: LockLostError): void }[] = [];
  /** Whether the server is being asked because the clocks have moved apart. */
  #doubting = false;
  #closed: { readonly reason: unknown } | undefined;

  constructor(
    connections: Connections,
    handler: Handler,
    base: string,
    process: string,
    ttl: number,
    metrics: Metrics,
    label: string,
  ) {
    this.#connections = connections;
    this.handler = handler;
    this.key = keysOf(base)[0];
    this.#base = base;
    this.#process = process;
    this.ttl = ttl;
    this.label = label;
    this.#metrics = metrics;
    this.#stream = new BatchStream(this, metrics);
    connections.add(this);
  }

  get id(): string {
    return `${this.#process}.${this.#epoch}`;
  }

  /** Whether nothing is held and nobody waits. */
  get idle(): boolean {
    return this.#claims.empty;
  }

  /** Asks the server for a claim's keys. */
  ask(claim: Claim): void {
    this.#lock(this.#activate(claim, claim.revocable ? '~' : ''));
  }

  /**
   * Gives back keys of a claim, or takes it out of the queue. Resolves when the server has done so, or
   * when the session has ended, which comes to the same.
   */
  giveBack(claim: Claim, keys: readonly string[], all: boolean): Promise<void> {
    const active = this.#claims.of(claim);
    if (active === undefined) return Promise.resolve();
    // What is still asked for may have been granted by now, with all that it takes along.
    const freed = active.state === 'asked' ? active.wanted : keys;
    if (all) this.#forget(active);
    return this.#unlock(active.id, freed);
  }

  idOf(claim: Claim): string | undefined {
    return this.#claims.of(claim)?.id;
  }

  /**
   * Parks a claim at a condition. Resolves when it is parked; then it will be granted like another. If
   * it rejects, the claim has to be given back: it may have been asked for anew.
   */
  async park(claim: Claim, condition: string): Promise<void> {
    const { id } = this.#activate(claim, '');
    await this.#perform({ name: 'wait', id, condition, keys: claim.keys });
  }

  /** One operation with a number for an answer. */
  async number(operation: Operation): Promise<number> {
    const result = await this.#perform(operation);
    return (result as Result & { name: 'number' }).value;
  }

  async query() {
    const result = await this.#perform({ name: 'query' });
    return (result as Result & { name: 'query' }).state;
  }

  /** Renews the lease. Resolves when it is beyond doubt; rejects if the session has ended by then. */
  async renew(): Promise<void> {
    await this.#perform({ name: 'renew' });
    if (this.#sure) return;
    await new Promise<void>((resolve, reject) => this.#unsure.push({ resolve, reject }));
  }

  /**
   * Ends the session on the server too. Its owner has dealt with all claims; what else has no answer
   * by then is refused with the reason.
   */
  async close(reason: unknown = this.#ended()): Promise<void> {
    if (this.#listening === 'yes' && this.#stream.suspended === undefined) {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        this.#perform({ name: 'leave', session: this.id }).catch(() => {}),
        // A server that does not answer ends the session by itself.
        new Promise((resolve) => {
          timer = setTimeout(resolve, this.ttl);
        }),
      ]);
      clearTimeout(timer);
    }
    this.#closed = { reason };
    for (const operation of this.#stream.take()) operation.lost();
    this.#endDoubt(this.#ended());
    this.#connections.unlisten(this.#commonChannel, this.#listener);
    this.#connections.unlisten(this.#ownChannel, this.#listener);
    this.#connections.delete(this);
    for (const timer of [this.#unreachable, this.#heartbeat, this.#lapse, this.#sweep])
      timer.stop();
  }

  /**
   * Whether what is held is beyond doubt. If its lease has run out, it is lost now; if the clocks have
   * moved apart, it asks. If a loss of the state may not have been heard of, it asks when it would be.
   */
  checkLease(): boolean {
    if (this.lease.valid) return this.#sure;
    if (this.#claims.in('held').length > 0) {
      if (this.lease.left <= 0) {
        this.#lose('its lease ran out before it could be renewed');
      } else if (!this.#doubting) {
        this.#doubting = true;
        this.#ask();
      }
    }
    return false;
  }

  // --- what the connections tell ---

  suspend(reason: unknown): void {
    this.#stream.suspend(reason);
    if (reason instanceof ConnectionLostError) this.#giveUpInTime();
    else this.#refuse(reason);
  }

  resume(server = this.#server): void {
    // Which database it is may not be known before the first connection.
    const channels = channelBaseOf(this.#base, this.#connections.factory.database);
    this.#ownChannel ||= channelOf(channels, this.#process);
    this.#commonChannel ||= channelOf(channels);
    const replaced = this.#server !== undefined && server !== this.#server;
    this.#server = server;
    this.#unreachable.stop();
    this.#stream.resume();
    // It may have missed the last that was done, and bring back what had been given back.
    if (replaced) this.#lose('another server has taken over');
    this.recheck();
    this.#stream.flush();
  }

  recheck(): void {
    if (this.#stream.suspended !== undefined) return;
    for (const active of this.#claims.in('asked')) this.#lock(active);
    for (const active of this.#claims.in('held')) this.#check(active);
  }

  readonly #listener = (text: string): void => {
    const message = openMessage(text, this.#secret);
    if (message === undefined) {
      this.#metrics.malformedMessages++;
    } else if (message.name === 'held') {
      const { alarmed } = this;
      const active = this.#claims.get(message.grant.id);
      if (active?.state !== 'asked') return;
      // A reply has overtaken it, or it is a forgery: the server is asked.
      if (message.grant.token <= this.#token) {
        this.#lock(active);
        return;
      }
      // A session that is granted something now is known to the server now.
      this.#confirmed = alarmed;
      this.#grant(message.grant, alarmed);
    } else if (message.name === 'revoke') {
      // It may come before the answer that tells of the grant: then the claim is not held yet, and
      // whoever waits is found by the check that follows.
      const active = this.#claims.get(message.id);
      if (active?.state === 'held') active.claim.revoked?.();
      else if (active !== undefined) active.revokedEarly = true;
    } else if (message.name === 'taken') {
      this.#taken(message.id, message.token);
    } else if (this.#join === 'must') {
      this.#ask();
    }
  };

  // --- what the stream of batches asks and tells ---

  /** Subscribes first: a process that does not listen loses its turn. */
  ready(): boolean {
    if (this.#listening === 'no') {
      this.#listening = 'soon';
      this.#connections.listen(this.#ownChannel, this.#listener).then(
        () => {
          this.#listening = 'yes';
          this.#stream.flush();
        },
        (error) => {
          this.#listening = 'no';
          if (!this.#closed) this.#refuse(error);
        },
      );
    }
    return this.#listening === 'yes';
  }

  /** Whether this process hears it when the server loses its state, as `Connections.hears` says it. */
  get alarmed(): number {
    return this.#connections.hears(this.#commonChannel, this.#listener);
  }

  /** Whether it has heard of everything since the server confirmed the session last. */
  get #sure(): boolean {
    return this.#confirmed !== 0 && this.#confirmed === this.alarmed;
  }

  batch(operations: readonly Operation[], incarnation: number, begun: boolean): Batch {
    return {
      session: this.id,
      ttl: this.ttl,
      incarnation,
      join: begun ? 'must' : this.#join,
      time: this.#witness.time,
      run: this.#server,
      secret: this.#secret,
      operations,
    };
  }

  received(reply: Reply, { operations, at, alarmed }: SentBatch): void {
    if (reply.name === 'stale') return;
    if (reply.name === 'lost') {
      for (const operation of operations) operation.lost();
      this.#lose('the server no longer knows this session');
      return;
    }
    this.lease.renew(at, reply.left);
    this.#witness.hear(reply.time);
    this.#doubting = false;
    // A grant may have overtaken it: what was confirmed by that is not in doubt again.
    this.#confirmed = Math.max(this.#confirmed, alarmed);
    reply.results.forEach((result, i) => {
      operations[i]?.done(result, alarmed);
    });
    for (const grant of reply.grants) this.#grant(grant, alarmed);
    if (this.#sure) this.#endDoubt();
    if (!this.idle) {
      this.#join = 'must';
      this.#watchLapse();
    }
  }

  #endDoubt(error?: LockLostError): void {
    const unsure = this.#unsure;
    this.#unsure = [];
    for (const { resolve, reject } of unsure) {
      if (error === undefined) resolve();
      else reject(error);
    }
  }

  unprepared(): void {
    void this.#connections.renew();
  }

  // --- operations ---

  #send(operation: PendingOperation): void {
    if (this.#closed) {
      operation.lost();
      return;
    }
    this.#stream.add(operation);
    this.#heartbeat.start(this.ttl / 3);
    const { suspended } = this.#stream;
    if (suspended === undefined) return;
    if (suspended instanceof ConnectionLostError) {
      this.#giveUpInTime();
    } else {
      // The server has refused to be used; it may think differently by now.
      this.#stream.suspended = new ConnectionLostError('trying again', { cause: suspended });
      void this.#connections.renew();
    }
  }

  #activate(claim: Claim, suffix: string): ActiveClaim {
    const active = new ActiveClaim(`${this.id}/${++this.#requests}${suffix}`, claim);
    this.#claims.add(active);
    return active;
  }

  /** Asks for a claim's keys, or how it stands. */
  #lock(active: ActiveClaim): void {
    const operation = lockOperation(active, {
      held: (grant, alarmed) => this.#grant(grant, alarmed),
      queued: (left) => {
        this.#sweepIn(left);
        if (this.alarmed === 0) this.#listenForAlarm().catch(() => {});
      },
      outdated: () => this.#lock(active),
      busy: () => {
        this.#forget(active);
        active.claim.busy?.();
      },
      refused: (error) => this.#refuseClaim(active, error),
    });
    if (operation !== undefined) this.#send(operation);
  }

  /** Asks whether a claim is still held, and whether somebody waits for its keys. */
  #check(active: ActiveClaim): void {
    const { claim } = active;
    this.#send(
      checkOperation(active, {
        contended: () => claim.revoked?.(),
        gone: () => {
          // What is left of it is of no use to anybody.
          void this.#unlock(active.id, claim.owned);
          this.#forget(active);
          this.#metrics.losses++;
          claim.lost(new LockLostError(`${this.label}the server no longer has the lock`));
        },
      }),
    );
  }

  /** Renews the lease, whatever comes of it. */
  #ask(): void {
    this.#send({
      operation: () => ({ name: 'renew' }),
      done: (result) => {
        if (result.name === 'renewed' && result.next !== undefined) this.#sweepIn(result.next);
      },
      failed: () => {},
      lost: () => {},
    });
  }

  /** Counts as a held lock until the server has answered, so that `drain` waits for it. */
  #unlock(id: string, keys: readonly string[]): Promise<void> {
    const { activity } = this.#metrics;
    activity.count(0, 1);
    return new Promise((resolve) => {
      const over = (): void => {
        activity.count(0, -1);
        resolve();
      };
      const unlock: PendingOperation = {
        operation: () => ({ name: 'unlock', id, keys }),
        done: over,
        // Refused. It has to go, or the server will keep it for as long as it knows the session.
        failed: () => {
          const present = id.startsWith(`${this.id}/`);
          if (present && this.lease.left > 0) {
            setTimeout(() => this.#send(unlock), this.ttl / 3).unref();
            return;
          }
          if (present) this.#lose('its lease ran out before it was given back');
          over();
        },
        lost: over,
      };
      this.#send(unlock);
    });
  }

  #ended(): LockLostError {
    return new LockLostError(`${this.label}the session has ended`);
  }

  #perform(operation: Operation): Promise<Result> {
    return new Promise((resolve, reject) => {
      const pending: PendingOperation = {
        operation: () => operation,
        done: resolve,
        failed: reject,
        // Some can be done by the next session as well.
        lost: () =>
          ANYBODYS.has(operation.name) && !this.#closed
            ? this.#send(pending)
            : reject(this.#closed ? this.#closed.reason : this.#ended()),
      };
      this.#send(pending);
    });
  }

  // --- what becomes of claims ---

  /** `alarmed`: how this process would have heard of a loss of the state since the grant. */
  #grant(grant: Grant, alarmed: number): void {
    const active = this.#claims.get(grant.id);
    if (active?.state !== 'asked') return;
    if (grant.extra.length > 0 && !active.mayHave(grant.extra)) {
      this.#metrics.malformedMessages++;
      return;
    }
    if (!this.lease.lasting) {
      // The grant, or the news of it, took as long as the lease. Does the server still agree?
      this.#ask();
      this.#lock(active);
      return;
    }
    if (alarmed === 0 || alarmed !== this.alarmed) {
      // If the connection for messages is down, all that is asked for is sent again when it is up.
      this.#listenForAlarm().then(
        () => {
          if (this.alarmed !== 0) this.#lock(active);
        },
        (error) => this.#refuse(error),
      );
      return;
    }
    if (grant.token <= active.taken) {
      // It is over already; the server is asked anew.
      this.#lock(active);
      return;
    }
    active.state = 'held';
    active.token = grant.token;
    this.#token = Math.max(this.#token, grant.token);
    this.#metrics.grants++;
    active.claim.granted({ ...grant, contended: active.revokedEarly || grant.contended });
  }

  /** Listens where the loss of the state is announced, as everybody does who holds something. */
  #listenForAlarm(): Promise<void> {
    return this.#connections.listen(this.#commonChannel, this.#listener);
  }

  #taken(id: string, token: number): void {
    const active = this.#claims.get(id);
    if (active === undefined) return;
    if (active.state === 'asked') {
      active.taken = token;
    } else if (active.token <= token) {
      this.#forget(active);
      this.#metrics.losses++;
      active.claim.lost(new LockLostError(`${this.label}the lock was taken by forceUnlock`));
    }
  }

  #forget(active: ActiveClaim): void {
    this.#claims.delete(active);
    if (this.#join === 'must' && this.idle) this.#join = 'new';
  }

  #refuseClaim(active: ActiveClaim, error: RedisLockError): void {
    if (active.state !== 'asked') return;
    // It may have been granted before the server refused what came after it in the batch.
    void this.#unlock(active.id, active.wanted);
    this.#forget(active);
    active.claim.refused(error);
  }

  /** The server cannot be used: nobody is left to wait for it. */
  #refuse(reason: unknown): void {
    const refusal = refusalOf(reason, this.label);
    const unsent = this.#stream.takeUnsent();
    for (const active of this.#claims.in('asked')) this.#refuseClaim(active, refusal);
    for (const operation of unsent) operation.failed(refusal);
  }

  #lose(reason: string): void {
    const error = new LockLostError(this.label + reason);
    const before = this.id;
    const operations = this.#stream.take();
    const held = this.#claims.in('held');
    const lost = [...held, ...this.#claims.in('asked')];
    for (const active of lost) this.#claims.delete(active);
    this.#epoch++;
    this.#join = 'again';
    this.lease.end();
    void this.#perform({ name: 'leave', session: before }).catch(() => {});
    this.#metrics.losses += held.length;
    this.#endDoubt(error);
    for (const operation of operations) operation.lost();
    for (const { claim } of lost) claim.lost(error);
  }

  // --- time ---

  /** Whoever waits is not left alone with a server that cannot be reached. */
  #giveUpInTime(): void {
    this.#unreachable.start(Math.max(this.ttl, PATIENCE));
  }

  /** The heartbeat: there is one while anything is held, waited for or without an answer. */
  #beat(): void {
    if (this.idle) {
      if (this.#stream.empty) {
        this.#connections.unlisten(this.#commonChannel, this.#listener);
        return;
      }
      // What should go back has ended with its lease, whether the server has heard of it or not.
      if (this.lease.left <= 0) this.#lose('its lease ran out before it was given back');
    }
    this.#giveUpWhatIsUnsure();
    const since = this.#stream.unansweredSince;
    if (since !== undefined && now().monotonic - since.monotonic > this.ttl) {
      this.#connections.reconnect();
    }
    this.#connections.probe(this.ttl);
    if (this.#stream.suspended === undefined && !this.idle) {
      this.#ask();
      // A message can be lost without the connection: then this is how it is found out.
      this.recheck();
    }
    if (!this.#closed) this.#heartbeat.start(this.ttl / 3);
  }

  /** What has been in doubt for as long as a lease is lost: whoever holds it does not wait for ever. */
  #giveUpWhatIsUnsure(): void {
    if (this.#sure || this.#claims.in('held').length === 0) {
      this.#deafSince = undefined;
      return;
    }
    this.#deafSince ??= performance.now();
    if (performance.now() - this.#deafSince < this.ttl / 2) return;
    this.#deafSince = undefined;
    this.#lose('a loss of it could not be heard of for as long as a lease lasts');
  }

  #watchLapse(): void {
    this.#lapse.start(Math.max(this.lease.left, 0) + 1);
  }

  #sweepIn(left: number): void {
    const at = performance.now() + left + 1;
    if (at >= this.#sweepAt || left === Number.POSITIVE_INFINITY) return;
    this.#sweepAt = at;
    this.#sweep.stop();
    this.#sweep.start(left + 1);
  }
}
