/**
 * A client process: makes the requests that the runner sends, and writes a history.
 *
 * Invariant: nothing else runs between the grant of a lock and its line in the history.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type AtEntry, HistoryWriter, now } from '../history.js';
import { keysOf } from '../keys.js';
import { between } from '../random.js';
import { type Guard, type Open, permits, type Share } from '../subjects/subject.js';
import type { Calls, Start, Work } from './calls.js';
import { earlier, setDate } from './clocks.js';
import { serve } from './remote.js';

/** Errors that lock() may reject with during a fault; any other error is a violation. */
const expected = new Set([
  'TimeoutError',
  'AbortError',
  'ClosedError',
  'LockLostError',
  'StoreError',
]);
/**
 * The longest pause of a process, in milliseconds, between the lock's last look at the clock and the grant. A lock
 * whose lease ends within that pause is counted as overtaken, not as granted late. If the process was stopped in the
 * middle of its turn, the pause is as long as the turn.
 */
const standstill = 50;
/** How long after its guard became invalid the signal of a lost lock may abort, in milliseconds. */
const silence = 500;
/** The share of the holders that compare the server's state with their own. */
const askingShare = 0.05;
/** The share of the writers that become readers. */
const downgradingShare = 0.2;
/** The interval, in milliseconds, at which a holder polls its guard. */
const step = 5;

const start: Start = JSON.parse(process.argv[2] ?? '');
const history = new HistoryWriter(start.history);
process.on('uncaughtException', (error) => {
  history.odd(`uncaught ${error.stack}`);
  process.exit(1);
});
process.on('unhandledRejection', (reason) => {
  history.odd(`unhandled rejection ${reason instanceof Error ? reason.stack : reason}`);
});

const { default: open }: { default: Open } = await import(start.subject);
const lock = await open(start.setting);

const rejected: Record<string, number> = {};
const pending = new Map<number, { keys: readonly string[]; since: number }>();
const running = new Set<Promise<unknown>>();
let lastId = 0;
let entered = 0;
let stopping = false;
/** Whether a guard was valid in this turn, or would have been if checked a moment earlier. */
let wasValid = false;
let overtaken = false;
let holding = false;
let holders: Promise<unknown>[] = [];

function note(error: unknown): void {
  const { name, message, stack, cause } = error as Error;
  const reason = cause instanceof Error ? (/^[A-Z]+\b/.exec(cause.message)?.[0] ?? cause.name) : '';
  const kind = reason ? `${name} (${reason})` : name;
  rejected[kind] = (rejected[kind] ?? 0) + 1;
  // A server replies ERR to a command that should not have been sent.
  if (!expected.has(name) || reason === 'ERR') {
    history.odd(`${name}: ${message} ${reason === 'ERR' ? cause : stack}`);
  }
}

function run(work: Promise<unknown>): void {
  const noted = work.catch((error) => history.odd(`a task ended with ${error.stack}`));
  running.add(noted);
  void noted.finally(() => running.delete(noted));
}

/** The active time of the event loop when the timers last ran, in milliseconds, without waits for events. */
let active = 0;
const activeNow = () => performance.eventLoopUtilization().active;
setInterval(() => {
  active = activeNow();
}, step).unref();

/**
 * Asks the guard, and notices if the answer would have been different a moment earlier. All locks of a process may end
 * together, so the observation holds for all locks granted with this one.
 */
function isValid(guard: Guard): boolean {
  const turn = activeNow() - active;
  const before = earlier(Math.max(standstill, turn), () => guard.valid);
  const valid = guard.valid;
  if (before && !wasValid) {
    wasValid = true;
    setImmediate(() => {
      wasValid = false;
      overtaken = false;
    });
  }
  if (before && !valid) overtaken = true;
  return valid;
}

function stateAtEntry(guard: Guard): AtEntry {
  if (isValid(guard)) return 'valid';
  // After a pause, a check of another lock may have ended the lease of all locks.
  const { aborted, reason } = guard.signal;
  const isLeaseOver = aborted && String(reason).includes('lease ended');
  return overtaken || (wasValid && isLeaseOver) ? 'overtaken' : 'invalid';
}

/** Two of three requests for a read-write lock are readers. */
function anyShare(): Share | undefined {
  const { primitive } = start.setting;
  if (primitive === 'semaphore') {
    return { weight: Math.ceil(Math.random() ** 2 * permits), limit: permits };
  }
  return primitive === 'rwlock' && Math.random() < 2 / 3 ? { weight: 1, limit: 0 } : undefined;
}

/** One request, from lock() to release(). Returns whether the lock was granted. */
async function once(
  keys: readonly string[],
  stay: (guard: Guard, id: number) => Promise<void>,
  terms?: { timeout?: number; signal?: AbortSignal },
): Promise<boolean> {
  lastId += 1;
  const id = lastId;
  const requested = now();
  pending.set(id, { keys, since: requested });
  history.requested(id, requested, keys);
  const share = anyShare();
  let guard: Guard;
  try {
    guard = await lock.lock(keys, { ...terms, share });
  } catch (error) {
    note(error);
    return false;
  } finally {
    pending.delete(id);
  }
  const atEntry = stateAtEntry(guard);
  const enteredAt = now();
  const { token } = guard;
  history.entered({ id, keys, share, token, requested, entered: enteredAt, atEntry });
  entered += 1;
  const lost = () => history.lost(id, now());
  if (guard.signal.aborted) lost();
  else guard.signal.addEventListener('abort', lost, { once: true });
  const isWriter = start.setting.primitive === 'rwlock' && share === undefined;
  if (isWriter && Math.random() < downgradingShare) {
    history.downgraded(id, now());
    await lock.downgrade?.(guard).catch(note);
  }
  await stay(guard, id);
  const valid = isValid(guard);
  history.left(id, now(), valid);
  if (!valid && !guard.signal.aborted) {
    // Timers that came due while the process was stopped run in any order. A guard in doubt may prove valid, or be
    // lost after one lease.
    const silentUntil = performance.now() + start.setting.ttl + silence;
    const silent = () => !isValid(guard) && !guard.signal.aborted;
    while (silent() && performance.now() < silentUntil) await sleep(1);
    if (silent()) history.silent(id, now());
  }
  guard.signal.removeEventListener('abort', lost);
  await guard.release().catch(note);
  return true;
}

async function stayFor(guard: Guard, id: number, milliseconds: number): Promise<void> {
  if (milliseconds < 1) return nextTurn();
  const until = performance.now() + milliseconds;
  // Half of the holders continue after their signal aborts: fencing protects against them.
  const careful = Math.random() < 0.5;
  while (performance.now() < until && !(careful && guard.signal.aborted)) {
    await sleep(Math.min(step, until - performance.now()));
    history.seen(id, now(), isValid(guard));
  }
}

/** A guard that is valid after the reply was valid when the server made it. */
async function compare(guard: Guard, id: number, keys: readonly string[]): Promise<void> {
  const answer = await lock.query().catch(() => undefined);
  if (!answer || !isValid(guard)) return;
  for (const key of keys) {
    const entries = answer.held.filter((held) => held.keys.includes(key));
    const other = entries.find(({ token, weight }) => token > guard.token && weight === undefined);
    if (other !== undefined) {
      const text = `the server gave ${key} away with token ${other.token}`;
      history.contradicted(id, { kind: 'usurped', at: now(), text });
    } else if (!entries.some(({ token }) => token <= guard.token)) {
      const text = `the server knows no holder of ${key}`;
      history.contradicted(id, { kind: 'forgotten', at: now(), text });
    }
  }
}

async function task(work: Work, group: number): Promise<void> {
  while (!stopping) {
    const think = between(work.think);
    if (think >= 1) await sleep(think);
    const keys = keysOf(group, start.setting.primitive);
    const { long, giveUp } = work;
    const hold = between(long && Math.random() < long.share ? long.hold : work.hold);
    const terms = giveUp && Math.random() < giveUp.share ? termsOf(giveUp.within) : {};
    const stay = async (guard: Guard, id: number) => {
      if (hold > 1 && Math.random() < askingShare) await compare(guard, id, keys);
      if (hold > 0) await stayFor(guard, id, hold);
    };
    // After a rejection the task waits before its next request.
    if (!(await once(keys, stay, terms))) await sleep(between([0, 20]));
  }
}

function termsOf(within: number): { timeout: number } | { signal: AbortSignal } {
  const after = Math.floor(Math.random() * within);
  return Math.random() < 0.5 ? { timeout: after } : { signal: AbortSignal.timeout(after) };
}

const calls: Calls = {
  work(work) {
    stopping = false;
    // A process campaigns once in each election.
    const isLeader = start.setting.primitive === 'leader';
    const tasks = isLeader ? Math.min(work.tasks, work.groups) : work.tasks;
    for (let index = 0; index < tasks; index += 1) run(task(work, index % work.groups));
  },
  async drain(milliseconds) {
    stopping = true;
    const until = performance.now() + milliseconds;
    while (running.size > 0 && performance.now() < until) {
      await sleep(step);
    }
    return [...pending.values()].map(({ keys, since }) => ({
      keys,
      milliseconds: (now() - since) / 1e6,
    }));
  },
  async hold(keySets) {
    holding = true;
    let inside = 0;
    holders = keySets.map((keys) =>
      once(keys, async (guard, id) => {
        inside += 1;
        while (holding) {
          await sleep(step);
          history.seen(id, now(), isValid(guard));
        }
      }),
    );
    holders.forEach(run);
    let ended = 0;
    for (const holder of holders) void holder.finally(() => (ended += 1));
    while (inside + ended < keySets.length) await sleep(1);
    return inside;
  },
  async letGo() {
    holding = false;
    await Promise.all(holders);
  },
  queue(keySets, stay) {
    for (const keys of keySets) run(once(keys, (guard, id) => stayFor(guard, id, stay)));
  },
  async storm(keys, requests, within) {
    const all = Array.from({ length: requests }, () => once(keys, async () => {}, termsOf(within)));
    await Promise.all(all);
  },
  async prove(keySets, milliseconds) {
    const until = performance.now() + milliseconds;
    const missing = [...keySets];
    for (let keys = missing[0]; keys && performance.now() < until; keys = missing[0]) {
      const timeout = Math.ceil(until - performance.now());
      if (await once(keys, async () => {}, { timeout })) missing.shift();
      else await sleep(step);
    }
    return missing.length === 0;
  },
  query: () => lock.query(),
  block(milliseconds) {
    // From a timer: by then the continuations of all settled promises have run.
    setTimeout(() => {
      const until = performance.now() + milliseconds;
      while (performance.now() < until);
    }, 0);
  },
  setDate,
  figures() {
    return { entered, rejected, heap: process.memoryUsage().heapUsed };
  },
  close: () => lock.close(),
};

serve(calls);
