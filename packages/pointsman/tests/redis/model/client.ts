/**
 * A process in the model: the state and behaviour of `session.ts`, without timers and sockets.
 *
 * Invariant: its lists and the objects in them are replaced and never changed, so that a copy of the process can share
 * them.
 */
import type {
  Batch,
  Grant,
  Join,
  Message,
  Operation,
  Reply,
  Share,
} from '../../../src/shared/protocol/protocol.js';
import { Violation } from './rules.js';

/** The length of a lease and a step of the clock, in the model's milliseconds. */
export const TTL = 6;
export const TICK = TTL / 2;

/** A request that a process makes. */
export interface Wish {
  readonly keys: readonly string[];
  readonly revocable?: boolean;
  /** How it shares its keys, if it does. */
  readonly share?: Share | undefined;
}

export interface Claim {
  readonly id: string;
  readonly keys: readonly string[];
  /** The holder keeps it until another process requests it. */
  readonly revocable: boolean;
  readonly share: Share | undefined;
  readonly held: boolean;
  /** Another process has requested it. */
  readonly wanted: boolean;
  /** The token of the hold, and the highest token up to which it was taken by force. */
  readonly token: number;
  readonly taken: number;
}

/** An operation without a reply. Its request is checked again when it is sent again. */
export type Sending =
  | {
      readonly name: 'lock' | 'check' | 'unlock';
      readonly id: string;
      readonly keys: readonly string[];
    }
  | { readonly name: 'leave'; readonly session: string }
  | {
      readonly name: 'take';
      readonly id: string;
      readonly token: number;
      readonly keys: readonly string[];
    }
  | { readonly name: 'renew' };

interface Sent {
  readonly sendings: readonly Sending[];
  readonly at: number;
  /** The number of its subscription when it was sent; see {@link Client.heard}. */
  readonly heard: number;
}

export class Client {
  alive = true;
  connected = true;
  /**
   * The state of its subscription: `shut` until its first request, `off` when it is lost, `deaf` when it is lost and
   * the server does not know, `cut` when it is lost and the process does not know.
   */
  ear: 'shut' | 'on' | 'deaf' | 'cut' | 'off' = 'shut';
  /** Whether it is subscribed to announcements of lost state, as it must be before it holds a lock. */
  alarm: 'off' | 'soon' | 'on' = 'off';
  /** Counts its subscriptions. */
  ears = 1;
  /** The value of {@link Client.heard} when the server last confirmed its session. */
  confirmed = 0;
  epoch = 0;
  incarnation = 1;
  requests = 0;
  join: Join = 'new';
  /** The end of its lease. */
  lease = 0;
  beat = 0;
  /** The least lead of the namespace's time over its clock; undefined until it has received one. */
  ahead: number | undefined;
  /** The run of the server that it last received a reply from. */
  run: number | undefined;
  claims: readonly Claim[] = [];
  outbox: readonly Sending[] = [];
  /** Operations without a reply; undefined where the reply no longer matters. */
  sent: readonly (Sent | undefined)[] = [];
  /** In transit: to the server, from it, and in the subscription. */
  requestsOut: readonly Batch[] = [];
  repliesIn: readonly Reply[] = [];
  messagesIn: readonly Message[] = [];
  /** Batches of an earlier connection or of an ended process that are still in transit. */
  strays: readonly Batch[] = [];

  constructor(readonly process: string) {}

  copy(): Client {
    return Object.assign(new Client(this.process), this);
  }

  get session(): string {
    return `${this.process}.${this.epoch}`;
  }

  get idle(): boolean {
    return this.claims.length === 0;
  }

  get quiet(): boolean {
    const { requestsOut, repliesIn, messagesIn, strays, outbox, alarm } = this;
    const ways = [requestsOut, repliesIn, messagesIn, strays, outbox];
    return alarm !== 'soon' && ways.every(({ length }) => length === 0);
  }

  believes(now: number): boolean {
    return now < this.lease;
  }

  /** The number of the subscription by which it hears of lost state, or 0. */
  get heard(): number {
    const hears = this.ear === 'on' || this.ear === 'cut';
    return this.alarm === 'on' && hears ? this.ears : 0;
  }

  /** Whether it may use its locks. */
  sure(now: number): boolean {
    return this.believes(now) && this.confirmed !== 0 && this.confirmed === this.heard;
  }

  ask(wish: Wish, now: number): void {
    this.#send([this.#claim(wish)], now);
  }

  /** Releases a lock, or cancels a request for it. */
  drop({ id, keys }: Claim, now: number): void {
    this.#forget(id);
    this.#send([{ name: 'unlock', id, keys }], now);
  }

  /** The heartbeat. */
  renew(now: number): void {
    this.beat = now;
    this.#send([{ name: 'renew' }, ...this.#locks(), ...this.#checks()], now);
  }

  /** Takes a lock from its holder. */
  take(id: string, token: number, keys: readonly string[], now: number): void {
    this.#send([{ name: 'take', id, token, keys }], now);
  }

  leave(now: number): void {
    this.#send([{ name: 'leave', session: this.session }], now);
  }

  /** Its lease has ended by its own clock. */
  lapse(now: number): void {
    this.#lose(now);
  }

  /** The connection is lost; batches in transit to the server may still arrive. */
  suspend(arrives: boolean): void {
    this.connected = false;
    this.outbox = [...this.sent.flatMap((sent) => sent?.sendings ?? []), ...this.outbox];
    if (arrives) this.strays = [...this.strays, ...this.requestsOut];
    this.sent = [];
    this.requestsOut = [];
    this.repliesIn = [];
  }

  resume(now: number, run: number): void {
    this.connected = true;
    this.incarnation++;
    const replaced = this.run !== undefined && this.run !== run;
    this.run = run;
    if (replaced) this.#lose(now);
    const outbox = this.outbox;
    this.outbox = [];
    this.#send([...outbox, ...this.#locks(), ...this.#checks()], now);
  }

  /** It hears of lost state from now on, and may have missed an announcement before. */
  alarmed(now: number): void {
    this.alarm = 'on';
    this.#send(this.#locks(), now);
  }

  /** Its subscription works again; it may have missed messages. */
  listen(now: number): void {
    this.ear = 'on';
    this.ears++;
    if (this.connected) this.#send([...this.#locks(), ...this.#checks()], now);
  }

  receive(now: number): void {
    const [reply, ...replies] = this.repliesIn as [Reply, ...Reply[]];
    const [sent, ...rest] = this.sent;
    this.repliesIn = replies;
    this.sent = rest;
    if (sent === undefined || reply.name === 'stale') return;
    if (reply.name === 'lost') {
      this.#lose(now);
      return;
    }
    this.lease = sent.at + reply.left;
    this.confirmed = sent.heard;
    this.ahead = Math.max(reply.time - now, this.ahead ?? Number.NEGATIVE_INFINITY);
    const more: Sending[] = [];
    for (const [i, result] of reply.results.entries()) {
      const sending = sent.sendings[i] as Sending;
      if (result.name === 'held') {
        more.push(...this.#grant(result.grant, sent.heard, now));
      } else if (result.name === 'queued') {
        if (this.alarm === 'off') this.alarm = 'soon';
      } else if (result.name === 'check' && sending.name === 'check') {
        const { held, contended } = result;
        if (!held) more.push(...this.#forgetHeld(sending.id));
        else if (contended) this.#want(sending.id);
      }
    }
    for (const grant of reply.grants) more.push(...this.#grant(grant, sent.heard, now));
    if (!this.idle) this.join = 'must';
    this.#send(more, now);
  }

  hear(now: number): void {
    const [message, ...messages] = this.messagesIn as [Message, ...Message[]];
    this.messagesIn = messages;
    if (message.name === 'held') {
      if (this.#asks(message.grant.id)) this.confirmed = this.heard;
      this.#send(this.#grant(message.grant, this.heard, now), now);
    } else if (message.name === 'revoke') this.#want(message.id);
    else if (message.name === 'taken') this.#taken(message.id, message.token);
    else if (this.join === 'must') this.#send([{ name: 'renew' }], now);
  }

  #claim({ keys, revocable = false, share }: Wish): Sending {
    const id = `${this.session}/${++this.requests}${revocable ? '~' : ''}`;
    this.claims = [
      ...this.claims,
      { id, keys, revocable, share, held: false, wanted: false, token: 0, taken: 0 },
    ];
    return { name: 'lock', id, keys };
  }

  #grant(grant: Grant, heard: number, now: number): Sending[] {
    const { id, contended } = grant;
    const claim = this.claims.find((claim) => claim.id === id);
    if (claim === undefined || claim.held) return [];
    if (!this.believes(now)) {
      return [{ name: 'renew' }, { name: 'lock', id, keys: claim.keys }];
    }
    if (heard === 0 || heard !== this.heard) {
      if (this.heard !== 0) return [{ name: 'lock', id, keys: claim.keys }];
      if (this.alarm === 'off') this.alarm = 'soon';
      return [];
    }
    if (grant.token <= claim.taken) return [{ name: 'lock', id, keys: claim.keys }];
    if (!this.sure(now)) throw new Violation(`${id} is granted in doubt`);
    this.#change(id, { held: true, wanted: claim.wanted || contended, token: grant.token });
    return [];
  }

  #lose(now: number): void {
    const before = this.session;
    const asked = this.claims.filter(({ held }) => !held);
    this.claims = [];
    this.outbox = [];
    this.sent = this.sent.map(() => undefined);
    this.epoch++;
    this.join = 'again';
    this.lease = 0;
    this.#send(
      [{ name: 'leave', session: before }, ...asked.map((claim) => this.#claim(claim))],
      now,
    );
  }

  #taken(id: string, token: number): void {
    const claim = this.claims.find((claim) => claim.id === id);
    if (claim?.held && claim.token <= token) this.#forget(id);
    else if (claim?.held === false) this.#change(id, { taken: token });
  }

  #forget(id: string): void {
    this.claims = this.claims.filter((claim) => claim.id !== id);
    if (this.join === 'must' && this.idle) this.join = 'new';
  }

  #forgetHeld(id: string): Sending[] {
    const claim = this.claims.find((claim) => claim.id === id && claim.held);
    if (claim === undefined) return [];
    this.#forget(id);
    return [{ name: 'unlock', id, keys: claim.keys }];
  }

  #want(id: string): void {
    this.#change(id, { wanted: true });
  }

  #change(id: string, change: Partial<Claim>): void {
    this.claims = this.claims.map((claim) => (claim.id === id ? { ...claim, ...change } : claim));
  }

  #asks(id: string): boolean {
    return this.claims.some((claim) => claim.id === id && !claim.held);
  }

  #holds(id: string): boolean {
    return this.claims.some((claim) => claim.id === id && claim.held);
  }

  #locks(): Sending[] {
    return this.claims
      .filter(({ held }) => !held)
      .map(({ id, keys }) => ({ name: 'lock', id, keys }));
  }

  #checks(): Sending[] {
    return this.claims
      .filter(({ held }) => held)
      .map(({ id, keys }) => ({ name: 'check', id, keys }));
  }

  #operation(sending: Sending): Operation | undefined {
    switch (sending.name) {
      case 'lock': {
        const { name, id, keys } = sending;
        const claim = this.claims.find((claim) => claim.id === id && !claim.held);
        if (claim === undefined) return undefined;
        const { share } = claim;
        const lock = { name, id, keys, tokens: 1, wait: true, optional: [] };
        return share === undefined ? lock : { ...lock, share };
      }
      case 'check': {
        const { name, id, keys } = sending;
        return this.#holds(id) ? { name, id, keys } : undefined;
      }
      case 'unlock': {
        const { name, id, keys } = sending;
        return { name, id, keys };
      }
      default:
        return sending;
    }
  }

  #send(more: readonly Sending[], now: number): void {
    this.outbox = [...this.outbox, ...more];
    if (!this.connected) return;
    const sendings: Sending[] = [];
    const operations: Operation[] = [];
    for (const sending of this.outbox) {
      const operation = this.#operation(sending);
      if (operation === undefined) continue;
      sendings.push(sending);
      operations.push(operation);
    }
    this.outbox = [];
    if (operations.length === 0) return;
    const { session, incarnation } = this;
    // An operation without a reply has begun the session, and may have been granted a lock.
    const join = this.sent.some((sent) => sent !== undefined) ? 'must' : this.join;
    const time = this.ahead === undefined ? 0 : now + this.ahead;
    const head = { session, ttl: TTL, incarnation, join, time, run: `${this.run}`, secret: '-' };
    const batch = { ...head, operations };
    this.requestsOut = [...this.requestsOut, batch];
    this.sent = [...this.sent, { sendings, at: now, heard: this.heard }];
  }
}
