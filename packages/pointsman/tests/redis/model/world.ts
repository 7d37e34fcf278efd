/**
 * The state that the search explores: one server, the processes, messages in transit and possible faults. `steps`
 * lists every next step of a state.
 *
 * Replies are in order on one connection and messages on another. There is no order between the two, and no bound on
 * the delay.
 */

import { apply } from '../../../src/shared/protocol/apply.js';
import type { Batch, Message } from '../../../src/shared/protocol/protocol.js';
import { emptyState, type State } from '../../../src/shared/protocol/state.js';
import { Client, TICK, TTL, type Wish } from './client.js';
import { checkServer, type Deleted, grantKey, holdsIn } from './rules.js';

/** How many times each fault may happen. */
export interface Faults {
  /** A connection for commands is lost. */
  readonly cut?: number;
  /** A connection for messages is lost. */
  readonly silence?: number;
  /** A message is lost without an error. */
  readonly deafness?: number;
  readonly crash?: number;
  /** The server loses its data and continues. */
  readonly flush?: number;
  /** The server loses its data and all connections. */
  readonly restart?: number;
  /** The server saves its data. */
  readonly save?: number;
  /** The server loses all connections, and restarts with the data of its last save. */
  readonly rollback?: number;
  /** The server's clock jumps forward by two leases. */
  readonly jump?: number;
  /** A request is cancelled. */
  readonly cancel?: number;
  /** A lock is taken by force. */
  readonly force?: number;
  /** A lock is deleted by hand. */
  readonly erase?: number;
  /** The record of a session is deleted by hand. */
  readonly disown?: number;
  readonly beat?: number;
  readonly tick?: number;
}

export interface Setup {
  readonly name: string;
  /** The requests of each process, in order; those of one list may be concurrent. */
  readonly wishes: readonly (readonly Wish[])[];
  readonly may: Faults;
  /** Processes that have held a lock before, and still listen for announcements of lost state. */
  readonly alarmed?: readonly number[];
}

const copyOf = ({ clock, locks, shares, limits, sessions, requests, guard }: State): State => ({
  clock,
  locks: new Map(locks),
  shares: new Map(shares),
  limits: new Map(limits),
  sessions: new Map(sessions),
  requests: new Map(requests),
  guard,
  limiters: new Map(),
  counters: new Map(),
});

export class World {
  /** Milliseconds. */
  now = 1_000_000;
  /** The server's clock had passed all granted times when its state was lost. */
  losses = 0;
  startedAt = 0;
  /** The sum of the jumps of the server's clock. */
  jumped = 0;
  /** No process with a lease at stake has sent anything for a quarter of a lease since the clock jumped. */
  jumping = false;
  /** The number of the server's run. */
  run = 1;
  /** The last save. */
  saved: State = emptyState();
  server: State;
  /** The highest token ever granted. */
  highest = 0;
  clients: Client[];
  /** The number of requests that each process has made. */
  uttered: number[];
  may: Record<keyof Faults, number>;
  /** Grants taken by force, as request and token, whose holders do not know it yet. */
  forced: ReadonlySet<string> = new Set();
  deleted: Deleted = { sessions: new Set(), lock: false };

  constructor(readonly setup: Setup) {
    this.server = emptyState();
    const { now } = this;
    this.server.clock = { token: 0, time: now, seen: now, doubted: false, run: `${this.run}` };
    this.clients = setup.wishes.map((_, i) => new Client(`p${i}`));
    for (const i of setup.alarmed ?? []) {
      Object.assign(this.clients[i] as Client, { alarm: 'on', ear: 'on' });
    }
    this.uttered = setup.wishes.map(() => 0);
    const none = {
      cut: 0,
      silence: 0,
      deafness: 0,
      crash: 0,
      flush: 0,
      restart: 0,
      save: 0,
      rollback: 0,
      jump: 0,
      cancel: 0,
      force: 0,
      erase: 0,
      disown: 0,
      beat: 0,
      tick: 0,
    };
    this.may = { ...none, ...setup.may };
  }

  copy(): World {
    const world = Object.assign(Object.create(World.prototype), this) as World;
    world.server = copyOf(this.server);
    world.clients = this.clients.map((client) => client.copy());
    world.uttered = [...this.uttered];
    world.may = { ...this.may };
    return world;
  }

  get micros(): number {
    return (this.now + this.jumped) * 1000 + this.losses * 100;
  }

  get quiet(): boolean {
    return this.clients.every(({ quiet }) => quiet);
  }

  /** The server processes a batch. */
  serve(client: Client, batch: Batch, answers: boolean): void {
    const before = copyOf(this.server);
    const listening = ({ ear }: Client): number => (ear === 'on' || ear === 'deaf' ? 1 : 0);
    const deliver = (client: Client, message: Message): number => {
      if (client.ear === 'on') client.messagesIn = [...client.messagesIn, message];
      return listening(client);
    };
    const wall = this.now + this.jumped;
    const { clock } = this.server;
    const lease = this.server.sessions.get(batch.session)?.expires ?? Number.POSITIVE_INFINITY;
    const lived = clock && lease - clock.time - (wall - clock.seen) <= (TTL * 3) / 4;
    const reply = apply(this.server, batch, {
      now: this.micros,
      uptime: this.now - this.startedAt,
      run: `${this.run}`,
      announce: (message) =>
        this.clients
          .filter(({ alarm }) => alarm === 'on')
          .reduce((sum, client) => sum + deliver(client, message), 0),
      send: (process, message) =>
        deliver(this.clients.find((client) => client.process === process) as Client, message),
    });
    if (lived && batch.join === 'must' && reply.name === 'done') this.jumping = false;
    for (const operation of batch.operations) {
      if (operation.name !== 'take' || reply.name !== 'done') continue;
      const taken = holdsIn(before).some(
        ({ id, token }) => id === operation.id && token === operation.token,
      );
      if (taken) this.forced = new Set([...this.forced, grantKey(operation)]);
    }
    this.highest = checkServer(before, this.server, this.highest, this.deleted);
    if (answers) client.repliesIn = [...client.repliesIn, reply];
  }

  deliver(client: Client): void {
    const [batch, ...rest] = client.requestsOut as [Batch, ...Batch[]];
    client.requestsOut = rest;
    this.serve(client, batch, true);
  }

  /** A process that has received the message that its grant was taken must not use it any more. */
  hear(client: Client): void {
    const [message] = client.messagesIn as [Message];
    client.hear(this.now);
    if (message.name !== 'taken') return;
    this.forced = new Set([...this.forced].filter((grant) => grant !== grantKey(message)));
  }

  deliverStray(client: Client): void {
    const [batch, ...rest] = client.strays as [Batch, ...Batch[]];
    client.strays = rest;
    this.serve(client, batch, false);
  }
}

type Step = readonly [name: string, take: (world: World) => void];

/** The held locks, by request. */
const locksOf = (state: State) => new Map(holdsIn(state).map((hold) => [hold.id, hold]));

/** All possible next steps. */
export function stepsFrom(world: World): Step[] {
  const steps: Step[] = [];
  const { may, setup, now } = world;
  for (const [i, client] of world.clients.entries()) {
    const step = (name: string, take: (client: Client, world: World) => void): void => {
      steps.push([`${client.process} ${name}`, (world) => take(world.clients[i] as Client, world)]);
    };
    const fault = (name: keyof Faults, how: string, take: (client: Client) => void): void => {
      if (may[name] === 0) return;
      step(`${name}${how}`, (client, world) => {
        world.may[name]--;
        take(client);
      });
    };
    if (client.strays.length > 0) {
      step('late batch arrives', (client, world) => world.deliverStray(client));
    }
    if (!client.alive) continue;
    if (client.requestsOut.length > 0) {
      step('batch arrives', (client, world) => world.deliver(client));
    }
    if (client.repliesIn.length > 0) step('receives', (client) => client.receive(now));
    if (client.messagesIn.length > 0) {
      step('hears', (client, world) => world.hear(client));
      fault('deafness', ': a message is lost', (client) => {
        client.messagesIn = client.messagesIn.slice(1);
      });
    }
    const wish = setup.wishes[i]?.[world.uttered[i] as number];
    if (wish !== undefined) {
      step('asks', (client, world) => {
        (world.uttered[i] as number)++;
        if (client.ear === 'shut') client.ear = 'on';
        client.run ??= world.run;
        client.ask(wish, now);
      });
    }
    for (const [c, claim] of client.claims.entries()) {
      if (claim.held) step(`releases ${claim.id}`, (client) => client.drop(claim, now));
      else fault('cancel', `s ${c}`, (client) => client.drop(claim, now));
    }
    if (client.claims.some(({ held }) => held) && !client.believes(now)) {
      step('notices that its lease is over', (client) => client.lapse(now));
    }
    if (!client.idle && client.connected && client.beat < now) {
      fault('beat', 's', (client) => client.renew(now));
    }
    for (const [id, { token }] of client.connected ? locksOf(world.server) : []) {
      fault('force', `s ${id} open`, (client) => {
        const keys = holdsIn(world.server).filter((hold) => hold.id === id);
        client.take(
          id,
          token,
          keys.map(({ key }) => key),
          now,
        );
      });
    }
    if (client.alarm === 'soon' && client.ear === 'on') {
      step('is alarmed from now on', (client) => client.alarmed(now));
    }
    if (client.connected) {
      fault('cut', ' and what was sent is gone', (client) => client.suspend(false));
      if (client.requestsOut.length > 0) {
        fault('cut', ' and what was sent arrives late', (client) => client.suspend(true));
      }
    } else {
      step('connects', (client, world) => client.resume(now, world.run));
    }
    if (client.ear === 'on') {
      fault('silence', 'd', (client) => {
        client.ear = 'deaf';
        client.messagesIn = [];
      });
    } else if (client.ear !== 'shut') {
      step('listens', (client) => client.listen(now));
    }
    for (const ear of ['deaf', 'off'] as const) {
      if (client.ear === 'shut') continue;
      fault('crash', `es, ${ear}`, (client) => {
        client.suspend(true);
        client.alive = false;
        client.ear = ear;
        client.claims = [];
        client.outbox = [];
        client.alarm = client.alarm === 'soon' ? 'on' : client.alarm;
        client.messagesIn = [];
      });
    }
    if (client.ear === 'deaf') {
      step('is known to be deaf', (client) => {
        client.ear = 'off';
      });
    }
  }
  if (may.tick > 0) {
    steps.push([
      'a tick',
      (world) => {
        world.may.tick--;
        world.now += TICK;
      },
    ]);
  }
  for (const [key, lock] of may.erase > 0 ? world.server.locks : []) {
    steps.push([
      `${key} is deleted by hand`,
      (world) => {
        world.may.erase--;
        world.server.locks.delete(key);
        world.deleted = { ...world.deleted, lock: true };
        world.forced = new Set([...world.forced, grantKey(lock)]);
      },
    ]);
  }
  for (const session of may.disown > 0 ? world.server.sessions.keys() : []) {
    steps.push([
      `the record of ${session} is deleted by hand`,
      (world) => {
        world.may.disown--;
        world.server.sessions.delete(session);
        const sessions = new Set([...world.deleted.sessions, session]);
        world.deleted = { ...world.deleted, sessions };
      },
    ]);
  }
  if (may.flush > 0 && world.server.sessions.size > 0) {
    steps.push([
      'flush',
      (world) => {
        world.may.flush--;
        world.losses++;
        world.server = emptyState();
      },
    ]);
  }
  const restart = (world: World, state: State): void => {
    world.losses++;
    world.run++;
    world.server = state;
    world.startedAt = world.now;
    for (const client of world.clients) {
      if (client.alive && client.connected) client.suspend(false);
      if (client.ear === 'on') client.ear = 'cut';
      else if (client.ear !== 'shut' && client.ear !== 'cut') client.ear = 'off';
      client.messagesIn = [];
      client.strays = [];
    }
  };
  if (may.restart > 0 && world.server.sessions.size > 0) {
    steps.push([
      'restart',
      (world) => {
        world.may.restart--;
        restart(world, emptyState());
      },
    ]);
  }
  if (may.save > 0) {
    steps.push([
      'save',
      (world) => {
        world.may.save--;
        world.saved = copyOf(world.server);
      },
    ]);
  }
  // A save of the empty state equals a restart without data.
  if (may.rollback > 0 && may.save === 0 && world.server.sessions.size > 0) {
    steps.push([
      'restart with what was saved',
      (world) => {
        world.may.rollback--;
        restart(world, copyOf(world.saved));
      },
    ]);
  }
  if (may.jump > 0 && !world.jumping) {
    steps.push([
      "the server's clock jumps",
      (world) => {
        world.may.jump--;
        world.jumped += 2 * TTL;
        world.jumping = true;
      },
    ]);
  }
  return steps;
}

const heldIn = (state: State): string[] =>
  holdsIn(state)
    .map(({ key, id, weight }) => `${key}${id}${weight}`)
    .sort();

/** Equal for states with the same possible futures. */
export function signature(world: World): string {
  const { now, server, clients, may, uttered, highest, startedAt, setup, forced } = world;
  const { clock, sessions, requests, guard } = server;
  const { saved, run } = world;
  const wall = now + world.jumped;
  const time = clock?.time ?? 0;
  const ahead = (token: number): number => Math.max(token - world.micros, -1);
  const until = (end: number): number => Math.max(end - time, 0);
  const queue = [...requests].sort(([, a], [, b]) => Number(a.order) - Number(b.order));
  return JSON.stringify([
    clock && [ahead(clock.token), wall - clock.seen, clock.doubted, clock.run === `${run}`],
    may.rollback > 0 && [
      heldIn(saved),
      [...saved.sessions].map(([id, { expires }]) => [id, expires - time]).sort(),
      [...saved.requests.keys()],
      saved.clock && [wall - saved.clock.seen, saved.clock.time - time],
    ],
    heldIn(server),
    [...server.limits],
    [...sessions].map(([id, { expires, incarnation }]) => [id, until(expires), incarnation]).sort(),
    queue.map(([id]) => id),
    guard !== undefined && until(guard),
    ahead(highest),
    Math.min(now - startedAt, TTL),
    Object.values(may),
    uttered,
    world.jumping,
    [...forced],
    [...world.deleted.sessions],
    clients.map((client) => [
      client.alive,
      client.connected,
      client.ear,
      client.alarm,
      client.confirmed !== 0 && client.confirmed === client.heard,
      client.session,
      client.incarnation,
      client.requests,
      client.join,
      client.run,
      client.ahead === undefined ? undefined : Math.max(client.ahead + now - time, -TTL),
      Math.max(client.lease - now, 0),
      client.beat === now,
      // All tokens differ; their values matter only where locks are taken by force.
      setup.may.force === undefined
        ? client.claims.map(({ token, taken, ...claim }) => claim)
        : client.claims,
      client.outbox,
      client.sent.map(
        (sent) =>
          sent && [
            Math.max(sent.at - now, -TTL),
            sent.sendings,
            sent.heard !== 0 && sent.heard === client.heard,
          ],
      ),
      client.requestsOut,
      client.strays,
      client.repliesIn.map((reply) =>
        reply.name === 'done'
          ? [
              reply.left,
              reply.time - time,
              reply.results.map((result) =>
                result.name === 'held'
                  ? [result.grant.id, result.grant.contended]
                  : result.name === 'check'
                    ? [result.held, result.contended]
                    : result.name,
              ),
              reply.grants.map(({ id, contended }) => [id, contended]),
            ]
          : reply.name,
      ),
      client.messagesIn.map((message) =>
        message.name === 'held' ? [message.grant.id, message.grant.contended] : message,
      ),
    ]),
  ]);
}
