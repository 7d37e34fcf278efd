/**
 * Shared limiters over a server in memory, a network that delays and loses messages, and a fake clock: requests are given
 * up at every moment, and no slot and no start is lost. A failure reports the seed that repeats the run.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Network, randomFrom, Server } from '../../../tests/redis/model/memory.js';
import { storeOver } from '../../redis/store.js';
import { SharedLimiter, type SharedLimiterOptions, type SharedPermit } from '../index.js';
import type { StartGroup } from '../protocol/starts.js';

vi.mock('../../redis/handlers/script.js', async () => {
  const { MemoryHandler } = await import('../../../tests/redis/model/memory.js');
  return { ScriptHandler: MemoryHandler };
});

/** The number of runs. */
const runs = Number(process.env.POINTSMAN_SIMULATIONS ?? 1_500) / 30;
const hour = 3_600_000;
const limit = 60;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance', 'Date'],
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const total = { rate: { limit, per: hour } };
/** The concurrency of all requests, that of a key, and the limits. */
const limits: readonly (readonly [all: number, own: number, SharedLimiterOptions])[] = [
  [2, Infinity, { ...total, concurrency: 2 }],
  [Infinity, 1, { ...total, perKey: { concurrency: 1 } }],
  [2, 1, { ...total, concurrency: 2, perKey: { concurrency: 1 } }],
  [2, Infinity, { rate: [total.rate, { limit: 3, per: 100, name: 'short' }], concurrency: 2 }],
  [3, Infinity, { ...total, concurrency: 3, perKey: { rate: { limit: 1, per: 120 } } }],
  [Infinity, Infinity, { rate: [total.rate, { limit: 3, per: 100, name: 'short' }] }],
  [Infinity, Infinity, { ...total, lease: 5 }],
];

interface Plan {
  readonly seed: number;
  readonly processes: number;
  readonly requests: number;
  readonly limits: number;
  /** The number of connections that are lost. */
  readonly cuts: number;
  /** Whether the server loses its state: then only that every request is decided is certain. */
  readonly loses: boolean;
  /** Whether another run of the server continues with an older state. */
  readonly replaced: boolean;
}

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  seed: fc.integer(),
  processes: fc.integer({ min: 1, max: 3 }),
  requests: fc.integer({ min: 1, max: 8 }),
  limits: fc.nat({ max: limits.length - 1 }),
  cuts: fc.constantFrom(0, 0, 1, 3),
  loses: fc.constantFrom(false, false, false, true),
  replaced: fc.constantFrom(false, false, false, true),
});

/** What the latest run of a server has granted; what is given back beyond that is added to `wrong`. */
class Given {
  readonly #weights = new Map<string, number>();
  #run = '';

  constructor(server: Server, wrong: string[]) {
    const carryOut = server.carryOut.bind(server);
    server.carryOut = (base, batch) => {
      const reply = carryOut(base, batch);
      if (this.#run !== server.run) this.#weights.clear();
      this.#run = server.run;
      const results = reply.name === 'done' ? reply.results : [];
      for (const [i, operation] of batch.operations.entries()) {
        const result = results[i];
        if (operation.name === 'correct') {
          const missing = this.#add(operation.groups, operation.at, 1);
          if (missing) wrong.push(`given back to ${server.run}: ${JSON.stringify(operation)}`);
        } else if (operation.name === 'start' && result?.name === 'start') {
          this.#add(operation.groups, result.at, result.count);
        }
      }
      return reply;
    };
  }

  /** Returns whether a start has less than is given back. */
  #add(groups: readonly StartGroup[], at: readonly number[], count: number): boolean {
    let isMissing = false;
    for (const [g, moment] of at.entries()) {
      const { limiter, weights } = groups[g] as StartGroup;
      for (const [r, weight] of weights.entries()) {
        const name = `${limiter} ${r} ${moment}`;
        const sum = (this.#weights.get(name) ?? 0) + weight * count;
        isMissing ||= sum < 0;
        this.#weights.set(name, sum);
      }
    }
    return isMissing;
  }
}

async function play(plan: Plan): Promise<void> {
  const { seed, processes, requests, limits: index, cuts, loses, replaced } = plan;
  const forgets = loses || replaced;
  const random = randomFrom(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, below(ms)));
  const server = new Server();
  const [all, own, options] = limits[index] as (typeof limits)[number];
  const running: (string | undefined)[] = [];
  const wrong: string[] = [];
  if (!loses) new Given(server, wrong);
  let started = 0;

  const work = async (key: string | undefined, permit: SharedPermit): Promise<void> => {
    started++;
    running.push(key);
    const ofKey = running.filter((other) => other === key).length;
    if (!forgets && (running.length > all || ofKey > own))
      wrong.push(`${running.length} run, ${ofKey} of ${key}`);
    await pause(40);
    running.splice(running.indexOf(key), 1);
    permit.release();
  };

  const request = async (limiter: SharedLimiter): Promise<void> => {
    const key = ['a', 'b', undefined][below(3)];
    await pause(150);
    const controller = new AbortController();
    const { signal } = controller;
    if (below(2) === 0) setTimeout(() => controller.abort('enough'), below(60));
    const timeout = [undefined, undefined, 0, 30, 300][below(5)];
    const given = { key, signal, timeout };
    try {
      switch (below(4)) {
        case 0: {
          const permit = await limiter.tryAcquire({ key });
          if (permit !== undefined) await work(key, permit);
          break;
        }
        case 1:
          await limiter.run((permit) => work(key, permit), given);
          break;
        case 2: {
          const permit = await limiter.reserve(2, given);
          if (below(2) === 0) permit.settle(1);
          await work(key, permit);
          permit.settle(1);
          break;
        }
        default:
          await work(key, await limiter.acquire(given));
      }
    } catch (error) {
      if (error === 'enough' || (error as Error).name === 'TimeoutError') return;
      // A key with a rate of 1 does not admit the weight of a reservation.
      if (!(error instanceof RangeError)) wrong.push(String(error));
    }
  };

  const networks: Network[] = [];
  const connect = (): SharedLimiter => {
    const network = new Network(server, () => 1 + below(12), random);
    networks.push(network);
    const store = storeOver(network, { namespace: 'n', ttl: 10_000 });
    return new SharedLimiter(store, 'api', { ...options, deadline: 60_000 });
  };
  const limiters = Array.from({ length: processes }, connect);
  const done = Promise.all(
    limiters.flatMap((limiter) => Array.from({ length: requests }, () => request(limiter))),
  );
  for (let i = 0; i < cuts; i++) {
    setTimeout(() => {
      const network = networks[below(processes)] as Network;
      if (below(2) === 0) network.forCommands?.cut();
      else network.forMessages?.cut();
    }, below(250));
  }
  if (loses) setTimeout(() => server.lose(), below(250));
  if (replaced) {
    setTimeout(() => {
      const older = structuredClone(server.state);
      setTimeout(() => {
        for (const network of networks) {
          network.late = 0;
          network.forCommands?.cut();
          network.forMessages?.cut();
        }
        server.replace(older);
      }, below(60));
    }, below(200));
  }
  const ended = done.then(async () => {
    for (const limiter of limiters) {
      if (!limiter.idle) wrong.push(`${limiter.waiting} wait, ${limiter.running} run`);
    }
    await Promise.all(limiters.map((limiter) => limiter.drain()));
    await Promise.all(limiters.map((limiter) => limiter.close()));
    if (cuts === 0 && !forgets) left = [server.state.shares.size, server.state.requests.size];
    // All slots are free; after a lost connection, when the lease has ended.
    const observer = connect();
    const concurrency = Math.min(all, own, 10);
    for (const key of ['a', 'b']) {
      const names = [...observer.rate, ...observer.perKey.rate].map(({ name }) => [name, 0]);
      const weight = { ...Object.fromEntries(names), concurrency };
      const permit = await observer.acquire({ key, weight });
      permit.release();
    }
    await observer.close();
  });
  let left = [0, 0];
  let isOver: boolean | undefined;
  void ended.then(
    () => {
      isOver = true;
    },
    (error) => wrong.push(String(error)),
  );
  // At the end of a lease, or of two after a loss.
  for (let i = 0; i < 1_200 && !isOver; i++) await vi.advanceTimersByTimeAsync(i < 400 ? 5 : 50);
  const logs = server.state.limiters.get('3:api')?.logs;
  const used = logs?.find(({ name }) => name === 'rate')?.total ?? 0;
  try {
    expect(wrong).toEqual([]);
    expect(isOver).toBe(true);
    expect(left).toEqual([0, 0]);
    // A start that is sent again after a lost connection may count twice.
    if (forgets) return;
    if (cuts === 0) expect(used).toBe(started);
    else expect(used).toBeGreaterThanOrEqual(started);
  } catch (error) {
    console.log(server.log.join('\n').slice(-6_000));
    throw error;
  }
}

test('requests that are given up lose neither a slot nor a start', {
  timeout: 120_000,
}, async () => {
  await fc.assert(fc.asyncProperty(anyPlan, play), { numRuns: runs });
});
