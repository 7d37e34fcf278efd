/**
 * The process as the server sees it: one lease, the claims that it covers, and a stream of batches.
 *
 * Invariants:
 * - Nothing is valid while a loss of the server's state would not be announced to this process. After such a gap,
 *   nothing is valid until the server has confirmed the session.
 * - When the lease has ended, or the server does not know the session, everything held is lost at once. The session
 *   continues under a new id, so messages to the old one do not apply to it.
 * - Without claims there is no heartbeat, and the server forgets the session when its lease ends.
 */

import { randomBytes } from 'node:crypto';
import { LockLostError, refusalOf } from '../errors.js';
import type { Metrics } from '../metrics.js';
import type { Batch, Join, Operation, Query, Reply, Result } from '../protocol/protocol.js';
import { openMessage } from '../protocol/wire.js';
import { type BaseStore, ConnectionLostError, type Link, type LinkObserver } from '../store.js';
import { BatchStream, type PendingOperation, type Sender, type SentBatch } from './batches.js';
import { type ClaimSession, Claims } from './claims.js';
import { Lease, NamespaceClock, OneShotTimer } from './time.js';

/** Minimum milliseconds for connecting. */
const CONNECT_PATIENCE = 1_000;
/** The channel of announcements to all processes. */
const EVERYONE = '';
/** Operations that do not depend on the session that sends them. */
const SESSION_INDEPENDENT: ReadonlySet<Operation['name']> = new Set([
  'query',
  'notify',
  'reserve',
  'take',
  'limit',
]);

export class Session implements LinkObserver, Sender, ClaimSession {
  readonly ttl: number;
  readonly label: string;
  readonly lease = new Lease();
  readonly claims: Claims;
  readonly #link: Link;
  readonly #process: string;
  readonly #metrics: Metrics;
  readonly #stream: BatchStream;
  #epoch = 0;
  /** Signs messages to the session, because other clients may publish in its channel. */
  readonly #secret = randomBytes(12).toString('base64url');
  /** `must` while the session has something to lose. */
  #join: Join = 'new';
  /** The latest run of the server. */
  #server: string | undefined;
  readonly #clock = new NamespaceClock();
  #listening: 'no' | 'soon' | 'yes' = 'no';
  readonly #unreachable = new OneShotTimer(() => this.refuse(this.#stream.suspended));
  readonly #heartbeat = new OneShotTimer(() => this.#beat());
  readonly #lapse = new OneShotTimer(() => {
    if (this.checkLease() || this.lease.left > 0) this.#startLapse();
  });
  /** Renews when another session's lease ends, so that the server ends that session. */
  readonly #sweep = new OneShotTimer(() => {
    this.#sweepAt = Number.POSITIVE_INFINITY;
    if (this.claims.in('requested').length > 0 && this.#stream.suspended === undefined)
      this.renewSoon();
  });
  #sweepAt = Number.POSITIVE_INFINITY;
  /** The continuity as of which the server last confirmed the session. */
  #confirmed = 0;
  /** Since when locks are held while announcements can be missed. */
  #deafSince: number | undefined;
  /** Calls of `renew` that wait until the locks are beyond doubt. */
  #unsure: { resolve(): void; reject(error: LockLostError): void }[] = [];
  /** Whether a renewal is under way because the two clocks disagree. */
  #doubting = false;
  #closed: { readonly reason: unknown } | undefined;

  constructor(
    store: Pick<BaseStore, 'ttl' | 'connect'>,
    process: string,
    metrics: Metrics,
    label: string,
  ) {
    this.#process = process;
    this.ttl = store.ttl;
    this.label = label;
    this.#metrics = metrics;
    this.#stream = new BatchStream(this, metrics);
    this.claims = new Claims(this, metrics);
    this.#link = store.connect(this);
  }

  get id(): string {
    return `${this.#process}.${this.#epoch}`;
  }

  async number(operation: Operation): Promise<number> {
    const result = await this.perform(operation);
    return (result as Result & { name: 'number' }).value;
  }

  async query(): Promise<Query> {
    const result = await this.perform({ name: 'query' });
    return (result as Result & { name: 'query' }).state;
  }

  /** Renews the lease. Resolves when it is beyond doubt or covers no claim; rejects if the session has ended by then. */
  async renew(): Promise<void> {
    await this.perform({ name: 'renew' });
    if (this.#sure) return;
    await new Promise<void>((resolve, reject) => this.#unsure.push({ resolve, reject }));
  }

  renewSoon(): void {
    this.send({
      operation: () => ({ name: 'renew' }),
      done: (result) => {
        if (result.name === 'renewed' && result.next !== undefined) this.#sweepIn(result.next);
      },
      failed: () => {},
      lost: () => {},
    });
  }

  /** Ends the session, also on the server, after the caller has ended all claims. Pending operations are refused. */
  async close(reason: unknown = this.#ended()): Promise<void> {
    if (this.#listening === 'yes' && this.#stream.suspended === undefined) {
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        this.perform({ name: 'leave', session: this.id }).catch(() => {}),
        // Without a reply, the server ends the session with its lease.
        new Promise((resolve) => {
          timer = setTimeout(resolve, this.ttl);
        }),
      ]);
      clearTimeout(timer);
    }
    this.#closed = { reason };
    for (const operation of this.#stream.take()) operation.lost();
    this.#endDoubt(this.#ended());
    for (const timer of [this.#unreachable, this.#heartbeat, this.#lapse, this.#sweep])
      timer.stop();
    await this.#link.close();
  }

  /** Whether what is held is beyond doubt. After the end of the lease it is lost; if the clocks disagree, it is renewed. */
  checkLease(): boolean {
    if (this.lease.valid) return this.#sure;
    if (this.claims.in('held').length > 0) {
      if (this.lease.left <= 0) {
        this.lose('its lease ended before it could be renewed');
      } else if (!this.#doubting) {
        this.#doubting = true;
        this.renewSoon();
      }
    }
    return false;
  }

  get run(): unknown {
    return this.#link.run;
  }

  /** Why the server cannot be reached, if it is known. */
  get trouble(): unknown {
    return this.#stream.suspended;
  }

  checkSilence(patience: number): void {
    if (this.#stream.isSilent(patience)) this.#link.reconnect();
  }

  // --- called by the link ---

  suspend(reason: unknown): void {
    this.#stream.suspend(reason);
    if (reason instanceof ConnectionLostError) this.#startUnreachable();
    else this.refuse(reason);
  }

  resume(server = this.#server): void {
    const replaced = this.#server !== undefined && server !== this.#server;
    this.#server = server;
    this.#unreachable.stop();
    this.#stream.resume();
    // Another server may lack the latest operations, and still have keys that were given back.
    if (replaced) this.lose('another server has taken over');
    this.recheck();
    this.#stream.flush();
  }

  recheck(): void {
    if (this.#stream.suspended === undefined) this.claims.recheck();
  }

  receive(text: string): void {
    const message = openMessage(text, this.#secret);
    if (message === undefined) this.#metrics.malformedMessages++;
    else if (message.name !== 'lost') this.claims.receive(message);
    else if (this.#join === 'must') this.renewSoon();
  }

  // --- called by the stream of batches ---

  /** Subscribes first: a process that does not listen loses its turn. */
  ready(): boolean {
    if (this.#listening === 'no') {
      this.#listening = 'soon';
      this.#link.listen(this.#process).then(
        () => {
          this.#listening = 'yes';
          this.#stream.flush();
        },
        (error) => {
          this.#listening = 'no';
          if (!this.#closed) this.refuse(error);
        },
      );
    }
    return this.#listening === 'yes';
  }

  /** Of the announcements of a loss. */
  get continuity(): number {
    return this.#link.continuity(EVERYONE);
  }

  /** Whether no announcement was missed since the server last confirmed the session. */
  get #sure(): boolean {
    return this.#confirmed !== 0 && this.#confirmed === this.continuity;
  }

  exchange(batch: Batch): Promise<Reply> {
    return this.#link.exchange(batch);
  }

  batch(operations: readonly Operation[], incarnation: number, begun: boolean): Batch {
    return {
      session: this.id,
      ttl: this.ttl,
      incarnation,
      join: begun ? 'must' : this.#join,
      time: this.#clock.time,
      run: this.#server,
      secret: this.#secret,
      operations,
    };
  }

  received(reply: Reply, { operations, at, continuity }: SentBatch): void {
    if (reply.name === 'stale') return;
    if (reply.name === 'lost') {
      for (const operation of operations) operation.lost();
      this.lose('the server no longer knows this session');
      return;
    }
    this.lease.renew(at, reply.left);
    this.#clock.observe(reply.time);
    this.#doubting = false;
    // A grant may have overtaken the reply and confirmed more.
    this.#confirmed = Math.max(this.#confirmed, continuity);
    reply.results.forEach((result, i) => {
      operations[i]?.done(result, continuity);
    });
    for (const grant of reply.grants) this.claims.grant(grant, continuity);
    if (this.#sure) this.#endDoubt();
    if (!this.claims.empty) {
      this.#join = 'must';
      this.#startLapse();
    }
  }

  unprepared(): void {
    this.#link.renew();
  }

  #endDoubt(error?: LockLostError): void {
    const unsure = this.#unsure;
    this.#unsure = [];
    for (const { resolve, reject } of unsure) {
      if (error === undefined) resolve();
      else reject(error);
    }
  }

  // --- called by the claims ---

  send(operation: PendingOperation): void {
    if (this.#closed) {
      operation.lost();
      return;
    }
    this.#stream.add(operation);
    this.#heartbeat.start(this.ttl / 3);
    if (this.#stream.suspended !== undefined) this.#startUnreachable();
  }

  perform(operation: Operation): Promise<Result> {
    return new Promise((resolve, reject) => {
      const pending: PendingOperation = {
        operation: () => operation,
        done: resolve,
        failed: reject,
        lost: () =>
          SESSION_INDEPENDENT.has(operation.name) && !this.#closed
            ? this.send(pending)
            : reject(this.#closed ? this.#closed.reason : this.#ended()),
      };
      this.send(pending);
    });
  }

  listenForLoss(): Promise<void> {
    return this.#link.listen(EVERYONE);
  }

  confirm(continuity: number): void {
    this.#confirmed = continuity;
  }

  queuedFor(left: number): void {
    this.#sweepIn(left);
    if (this.continuity === 0) this.listenForLoss().catch(() => {});
  }

  emptied(): void {
    if (this.#join === 'must') this.#join = 'new';
    // Without claims there is no heartbeat that would end the doubt.
    this.#endDoubt();
  }

  refuse(reason: unknown): void {
    const refusal = refusalOf(reason, this.label);
    const unsent = this.#stream.takeUnsent();
    // A refused request makes the next one of this process request its keys.
    for (;;) {
      const requested = this.claims.in('requested');
      if (requested.length === 0) break;
      for (const claim of requested) this.claims.refuse(claim, refusal);
    }
    for (const operation of unsent) operation.failed(refusal);
  }

  lose(reason: string): void {
    const error = new LockLostError(this.label + reason);
    const before = this.id;
    const operations = this.#stream.take();
    this.#endDoubt(error);
    this.#metrics.losses += this.claims.in('held').length;
    const lost = this.claims.removeAll();
    this.#epoch++;
    this.#join = 'again';
    this.lease.end();
    void this.perform({ name: 'leave', session: before }).catch(() => {});
    for (const operation of operations) operation.lost();
    for (const claim of lost) claim.owner.lost(claim, error);
  }

  #ended(): LockLostError {
    return new LockLostError(`${this.label}the session has ended`);
  }

  // --- timers ---

  #startUnreachable(): void {
    this.#unreachable.start(Math.max(this.ttl, CONNECT_PATIENCE));
  }

  /** The heartbeat: it runs while there is a claim or an operation without a reply. */
  #beat(): void {
    if (this.claims.empty) {
      if (this.#stream.empty) {
        this.#link.unlisten(EVERYONE);
        return;
      }
      // The end of the lease has released the keys, even if the server did not get the operation.
      if (this.lease.left <= 0) this.lose('its lease ended before it was released');
    }
    this.#endLongDoubt();
    this.checkSilence(this.ttl);
    this.#link.probe(this.ttl);
    if (this.#stream.suspended === undefined && !this.claims.empty) {
      this.renewSoon();
      // A message can be lost although its connection is not.
      this.recheck();
    }
    if (!this.#closed) this.#heartbeat.start(this.ttl / 3);
  }

  /** Loses what has been in doubt for too long: holders must not wait forever. */
  #endLongDoubt(): void {
    if (this.#sure || this.claims.in('held').length === 0) {
      this.#deafSince = undefined;
      return;
    }
    this.#deafSince ??= performance.now();
    if (performance.now() - this.#deafSince < this.ttl / 2) return;
    this.#deafSince = undefined;
    this.lose('a loss of it could not have been announced for as long as a lease lasts');
  }

  #startLapse(): void {
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
