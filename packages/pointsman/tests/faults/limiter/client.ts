/**
 * A process that loads the limiters of a trial, with clocks that are ahead of the machine's or behind.
 *
 * Invariant: nothing else runs between a start and its line in the log.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store as PublicStore, SharedLimiter } from 'pointsman/shared';
import { setAhead, setDate } from '../client/clocks.js';
import { serve } from '../client/remote.js';
import { now } from '../history.js';
import { between, oneOf } from '../random.js';
import { open } from '../subjects/store.js';
import type { Decision, LimiterCalls, LimiterStart } from './calls.js';
import { LogWriter } from './log.js';
import type { Plan } from './plans.js';
import { type StoreInside, tap } from './tap.js';

/** Errors of a request during a fault; any other error is a violation. */
const expected = new Set(['TimeoutError', 'AbortError', 'StoreError']);
/** The share of the waiting requests that are given up. */
const givenUpShare = 0.02;
const settledShare = 0.5;
/** A process that gets no turn for longer than this was paused, in nanoseconds. */
const pause = 8e6;

const start: LimiterStart = JSON.parse(process.argv[2] ?? '');
setAhead(start.ahead);
const log = new LogWriter(start.log);
process.on('uncaughtException', (error) => {
  log.write({ kind: 'odd', text: `uncaught ${error.stack}` });
  process.exit(1);
});

let lastTurn = now();
setInterval(() => {
  const turn = now();
  if (turn - lastTurn > pause) log.write({ kind: 'pause', from: lastTurn, until: turn });
  lastTurn = turn;
}, 2).unref();

const { store, end } = await open(start.setting);
tap(store as PublicStore & StoreInside, log);
const limiters = start.plans.map((plan) => {
  const { name, rate, perKey, concurrency, lease } = plan;
  const { deadline } = start;
  return {
    plan,
    limiter: new SharedLimiter(store, name, { rate, perKey, concurrency, lease, deadline }),
  };
});
const rejected: Record<string, number> = {};
const running = new Set<Promise<void>>();
let lastId = 0;
let isStopping = false;

function note(error: unknown): void {
  const { name, stack } = error as Error;
  rejected[name] = (rejected[name] ?? 0) + 1;
  if (!expected.has(name)) log.write({ kind: 'odd', text: String(stack) });
}

function started(plan: Plan, key: string, weight: number): number {
  lastId += 1;
  log.write({ kind: 'start', id: lastId, plan: plan.name, key, weight, at: now() });
  return lastId;
}

async function wait(plan: Plan, limiter: SharedLimiter): Promise<void> {
  while (!isStopping) {
    const key = oneOf(plan.keys);
    const weight = Math.ceil(Math.random() * plan.heaviest);
    const controller = new AbortController();
    const isGivenUp = Math.random() < givenUpShare;
    const timer = isGivenUp ? setTimeout(() => controller.abort(), between([0, 100])) : undefined;
    try {
      const { signal } = isGivenUp ? controller : {};
      const permit = await limiter.acquire({ key, weight, timeout: 5_000, signal });
      const id = started(plan, key, weight);
      if (plan.concurrency !== undefined) await sleep(between([0, 5]));
      let actual = weight;
      if (weight > 1 && Math.random() < settledShare) {
        actual = Math.random() < 0.8 ? weight - 1 : weight + 1;
        permit.settle(actual);
      }
      log.write({ kind: 'end', id, at: now(), weight: actual });
      permit.release();
    } catch (error) {
      note(error);
      await sleep(between([0, 20]));
    }
    clearTimeout(timer);
  }
}

async function poll(plan: Plan, limiter: SharedLimiter): Promise<void> {
  while (!isStopping) {
    const key = oneOf(plan.keys);
    try {
      const { allowed, retryAfter } = await limiter.check(key);
      if (allowed) {
        const id = started(plan, key, 1);
        log.write({ kind: 'end', id, at: now(), weight: 1 });
      } else {
        await sleep(Math.min(retryAfter, 100));
      }
    } catch (error) {
      note(error);
      await sleep(between([0, 20]));
    }
  }
}

const questions: Record<string, (limiter: SharedLimiter) => Promise<unknown>> = {
  acquire: async (limiter) => (await limiter.acquire()).release(),
  tryAcquire: async (limiter) => (await limiter.tryAcquire())?.release(),
  check: (limiter) => limiter.check(),
  run: (limiter) => limiter.run(() => {}),
};

async function decide(limiter: SharedLimiter, question: string): Promise<Omit<Decision, 'paused'>> {
  const begun = performance.now();
  const error = await questions[question]?.(limiter).then(
    () => ({}),
    ({ name }: Error) => ({ error: name }),
  );
  return {
    question: `${question} of ${limiter.name}`,
    milliseconds: performance.now() - begun,
    ...error,
  };
}

serve<LimiterCalls>({
  async decide() {
    let paused = 0;
    let last = performance.now();
    const turn = () => {
      paused = Math.max(paused, performance.now() - last);
      last = performance.now();
    };
    const timer = setInterval(turn, 1);
    const decisions = await Promise.all(
      limiters.flatMap(({ limiter }) =>
        Object.keys(questions).map((question) => decide(limiter, question)),
      ),
    );
    turn();
    clearInterval(timer);
    return decisions.map((decision) => ({ ...decision, paused }));
  },
  work() {
    for (const { plan, limiter } of limiters) {
      const tasks = [...Array(plan.waiters).fill(wait), ...Array(plan.pollers).fill(poll)];
      for (const task of tasks) {
        const done: Promise<void> = task(plan, limiter);
        running.add(done);
        void done.then(() => running.delete(done));
      }
    }
  },
  async drain(milliseconds) {
    isStopping = true;
    const until = performance.now() + milliseconds;
    while (running.size > 0 && performance.now() < until) await sleep(5);
    return running.size;
  },
  setDate,
  figures: () => ({ rejected }),
  async close() {
    await Promise.all(limiters.map(({ limiter }) => limiter.close()));
    await store.close();
    end();
  },
});
