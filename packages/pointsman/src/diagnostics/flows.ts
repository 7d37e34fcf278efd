/**
 * Follows async functions through promises: from a permit to the function that holds it, and from that function through
 * its awaits to the wait that blocks it. One function with its awaits is a {@link Flow}.
 *
 * V8's promise hooks report each new promise and the promise that it waits for. Three facts turn that into flows:
 * - `await p` creates a promise whose parent is `p`, and the code after the `await` runs as that promise's job. So a
 *   function that has awaited once is identified by its job, as long as the stack below it is empty.
 * - An async function creates its own promise first of all, and until its first `await` the stack below it does not
 *   change. So its first `await` is identified by the stack below it.
 * - The function resolves its own promise when it ends, from its own frame.
 *
 * Invariant: nothing is guessed. Where the flow is uncertain (a promise resolved by hand, `Promise.race`, a permit awaited
 * twice), it ends, so that a flow that can continue is never reported as stuck.
 *
 * The hooks are active while a watched primitive is held or waited for. Stacks are captured only for what follows from
 * that.
 */

import { childOf, link, setChild, unlink } from './links.js';
import { platform } from './platform.js';
import { Flow, type Hold, onCount, type Wait } from './record.js';
import { captureFrames, type Frame } from './stack.js';

/** The flow that ends when this promise settles: its async function, or the callback whose result it is. */
const flows = new WeakMap<object, Flow>();
/** The flow that continues in this promise's job. */
const jobs = new WeakMap<object, Flow>();
const waits = new WeakMap<object, Wait>();
/** The holds that a promise was resolved with before any function awaited it. */
const undelivered = new WeakMap<object, { readonly holds: Hold[]; isTaken: boolean }>();
/** The holds that a flow left to its caller when it ended; not proven yet. */
const passed = new WeakMap<object, Hold[]>();
/** The promise that receives the result: of an element, its `Promise.all`; of a promise, the one resolved with it. */
const onwards = new WeakMap<object, object>();

/** The promise whose job runs. */
let job: object | undefined;
/** An async function that was called and has not reached an `await` yet. */
interface Entered {
  readonly promise: object;
  readonly key: string;
}
let entered: Entered[] = [];
/** The `Promise.all` that is being created. */
let gathering: object | undefined;
/** The number of waits and holds that began in this run and belong to no flow yet; the next `await` identifies them. */
let fresh = 0;
let taken: { readonly hold: Hold; readonly keys: readonly string[] }[] = [];
/** The latest promise that waits for another, and the previous child of that one. */
let last:
  | { readonly promise: object; readonly parent: object; readonly child: object | null | undefined }
  | undefined;
/** The promise that `await` created for a value that is not a promise. */
let wrapper: object | undefined;
/** Whether this package itself is creating promises. */
let muted = false;
let suspended: (flow: Flow) => void = () => {};

const isBuiltin = (frame: Frame | undefined, ...names: string[]): boolean =>
  frame !== undefined &&
  frame.getLineNumber() === null &&
  names.includes(frame.getFunctionName() ?? '');

const placeOf = (frame: Frame): string =>
  `${frame.getFileName()}:${frame.getLineNumber()}:${frame.getColumnNumber()}`;

/** Identifies a function until its first `await`: by the function and the stack below it. */
function keyOf([top, ...below]: readonly Frame[]): string {
  const start = `${top?.getEnclosingLineNumber?.()}:${top?.getEnclosingColumnNumber?.()}`;
  return `${top?.getFileName()}:${start} ${below.map(placeOf).join()}`;
}

/** Returns the frames of this synchronous run, without those of the runtime that call hooks and run microtasks. */
function framesOf(below: unknown): readonly Frame[] {
  const frames = captureFrames(below);
  const first = frames.findIndex((frame) => frame.getFileName() !== 'node:internal/promise_hooks');
  const end = frames.findIndex(
    (frame) => frame.isAsync() || frame.getFileName() === 'node:internal/process/task_queues',
  );
  const here = frames.slice(Math.max(first, 0), end < 0 ? frames.length : end);
  return isBuiltin(here.at(-1), 'runMicrotasks') ? here.slice(0, -1) : here;
}

function flowOf(map: WeakMap<object, Flow>, promise: object): Flow {
  let flow = map.get(promise);
  if (flow === undefined) {
    flow = new Flow();
    map.set(promise, flow);
  }
  return flow;
}

/** Returns whether the current code may lead from a hold to a wait. */
const isRelevant = (): boolean => fresh > 0 || (job !== undefined && jobs.has(job));

function init(promise: object, parent: object | undefined): void {
  if (muted) return;
  last = undefined;
  if (parent === undefined) {
    if (!isRelevant()) return;
    const frames = framesOf(init);
    if (isBuiltin(frames[0], 'all', 'allSettled')) gathering = promise;
    else if (frames[0]?.getLineNumber() != null) entered.push({ promise, key: keyOf(frames) });
    return;
  }
  last = { promise, parent, child: childOf(parent) };
  link(promise, parent);
  if (isRelevant() || waits.has(parent) || undelivered.has(parent) || flows.has(parent)) {
    suspend(promise, parent, framesOf(init));
  }
  const resolved = undelivered.get(parent);
  if (resolved === undefined) return;
  for (const hold of resolved.holds) {
    if (resolved.isTaken) give(hold, undefined);
    else deliverTo(promise, hold);
  }
  resolved.isTaken = true;
}

/** Handles a new promise that waits for another. */
function suspend(promise: object, parent: object, frames: readonly Frame[]): void {
  let flow: Flow;
  const [top, caller] = frames;
  if (isBuiltin(top, 'then') && frames.length === 1) {
    // The engine itself: this job's flow was resolved with the parent, and follows it.
    if (job === undefined) return;
    onwards.set(promise, job);
    flow = flowOf(flows, job);
    // So the flow has not ended yet, and keeps its holds.
    for (const hold of passed.get(job) ?? []) {
      if (hold.unproven.at(-1) !== job) continue;
      hold.unproven.pop();
      give(hold, flow);
    }
    passed.delete(job);
  } else if (isBuiltin(top, 'then') && isBuiltin(caller, 'all', 'allSettled')) {
    if (gathering === undefined) return;
    onwards.set(promise, gathering);
    flowOf(flows, gathering).awaits.push(parent);
    return;
  } else if (isBuiltin(top, 'then')) {
    if (isBuiltin(caller, 'race', 'any')) return;
    flow = flowOf(flows, promise);
  } else if (top === undefined || isBuiltin(top, top.getFunctionName() ?? '')) {
    return;
  } else {
    flow = (parent === wrapper ? jobs.get(parent) : undefined) ?? awaiting(frames);
  }
  jobs.set(promise, flow);
  flow.awaits = [parent];
  suspended(flow);
}

/** Returns the flow of the function at the top of these frames, which reaches an `await`. */
function awaiting(frames: readonly Frame[]): Flow {
  const key = keyOf(frames);
  const index = entered.findIndex((each) => each.key === key);
  const [start] = index < 0 ? [] : entered.splice(index, 1);
  const current = frames.length === 1 && job !== undefined ? flowOf(jobs, job) : undefined;
  const flow = start === undefined ? (current ?? new Flow()) : flowOf(flows, start.promise);
  // An async function that is called as a callback gets the holds of the callback.
  if (current !== undefined) for (const hold of [...current.holds]) give(hold, flow);
  for (const { hold, keys } of taken) if (keys.includes(key)) give(hold, flow);
  taken = taken.filter(({ keys }) => !keys.includes(key));
  return flow;
}

function give(hold: Hold, flow: Flow | undefined): void {
  hold.flow?.holds.delete(hold);
  hold.flow = flow;
  flow?.holds.add(hold);
}

/** Gives a hold to the flow that awaits the promise, which is being resolved with it. */
function deliver(promise: object, hold: Hold): void {
  if (hold.permit.released) return;
  const child = childOf(promise);
  if (child !== undefined && child !== null) {
    deliverTo(child, hold);
    return;
  }
  give(hold, undefined);
  if (child === null) return;
  const resolved = undelivered.get(promise);
  if (resolved === undefined) undelivered.set(promise, { holds: [hold], isTaken: false });
  else resolved.holds.push(hold);
}

function deliverTo(child: object, hold: Hold): void {
  const onward = onwards.get(child);
  if (onward === undefined) give(hold, flowOf(jobs, child));
  else deliver(onward, hold);
}

function before(promise: object): void {
  unlink(promise);
  start(promise);
  const flow = jobs.get(promise);
  if (flow !== undefined) flow.awaits = [];
}

/**
 * Returns whether `await` has just created this promise for a value that is not a promise. Such a promise is settled at
 * once, and its parent is the function's own promise, for which it does not wait.
 */
function isWrapper(promise: object): boolean {
  if (last?.promise !== promise) return false;
  setChild(last.parent, last.child);
  return true;
}

function settled(promise: object): void {
  if (isWrapper(promise)) {
    wrapper = promise;
    return;
  }
  if (entered.length > 0) entered = entered.filter((each) => each.promise !== promise);
  if (job === undefined) return;
  const flow = jobs.get(job);
  if (flow === undefined || flow.holds.size === 0 || !isEnd(promise, job, flow)) return;
  // The flow ended without releasing these holds. Its caller has them if it received them: see `prove`.
  const left = [...flow.holds];
  passed.set(promise, left);
  for (const hold of left) {
    hold.unproven.push(promise);
    deliver(promise, hold);
  }
}

/** Returns whether the flow that runs as this job ends with this promise. */
function isEnd(promise: object, job: object, flow: Flow): boolean {
  if (promise === job) return flows.get(job) === flow;
  if (promise === onwards.get(job)) return true;
  // A function resolves its own promise from its own frame, with no frame above or below.
  const frames = framesOf(settled);
  return frames.length === 1 && frames[0]?.getLineNumber() != null;
}

const isOf = (permit: object, value: unknown): boolean =>
  value === permit ||
  (Object(value) === value &&
    Object.values(Object.getOwnPropertyDescriptors(value)).some((each) => each.value === permit));

/**
 * Proves that a hold went to the callers of the functions that ended with it: that these functions returned the permit, or
 * an object that contains it. Otherwise its owner is unknown. Returns undefined if that is certain already.
 */
export function prove(hold: Hold): Promise<void> | undefined {
  const { unproven } = hold;
  if (unproven.length === 0) return undefined;
  return unseen(async () => {
    const values = await Promise.allSettled(unproven);
    if (!values.every((each) => each.status === 'fulfilled' && isOf(hold.permit, each.value))) {
      give(hold, undefined);
    }
    unproven.length = 0;
  });
}

/** Begins another synchronous run. */
function start(promise: object | undefined): void {
  job = promise;
  fresh = 0;
  last = gathering = wrapper = undefined;
  if (entered.length > 0) entered = [];
  if (taken.length > 0) taken = [];
}

const after = (): void => start(undefined);

let stop: (() => void) | undefined;
let mode: 'off' | 'idle' | 'on' = 'off';
/** Undefined until the first check. */
let works: boolean | undefined;

/** The hooks while no watched primitive is held or waited for. */
const idle = {
  init(promise: object, parent: object | undefined): void {
    if (parent === undefined || muted) return;
    last = { promise, parent, child: childOf(parent) };
    link(promise, parent);
  },
  before(promise: object): void {
    last = undefined;
    unlink(promise);
  },
  settled: (promise: object): void => void isWrapper(promise),
};

/** Returns whether the hooks work as needed: a runtime may have them without effect. */
function check(): boolean {
  const { hookPromises } = platform();
  if (hookPromises === undefined || captureFrames(check)[0]?.getEnclosingLineNumber === undefined) {
    return false;
  }
  try {
    const awaited = Promise.resolve();
    let isSeen = false;
    const end = hookPromises({
      init: (_, parent) => {
        isSeen ||= parent === awaited;
      },
    });
    void (async () => {
      await awaited;
    })();
    end();
    return isSeen;
  } catch {
    return false;
  }
}

/** Returns whether promises can be followed in this runtime. */
export function canFollow(): boolean {
  works ??= check();
  return works;
}

// Links between promises are recorded while any primitive is watched: a function may be awaited before it locks.
onCount((total, watched) => {
  const next = !canFollow() || watched === 0 ? 'off' : total === 0 ? 'idle' : 'on';
  if (next === mode) return;
  mode = next;
  stop?.();
  start(undefined);
  const { hookPromises } = platform();
  if (mode === 'off') stop = undefined;
  else stop = hookPromises?.(mode === 'on' ? { init, before, after, settled } : idle);
});

/** Sets the listener that is called when a flow begins to wait. */
export function onSuspend(listener: (flow: Flow) => void): void {
  suspended = listener;
}

/** Runs `fn`, whose promises are not followed. */
export function unseen<Result>(fn: () => Result): Result {
  const before = muted;
  muted = true;
  try {
    return fn();
  } finally {
    muted = before;
  }
}

/** Registers the promise of a wait, which is pending as long as the wait lasts. */
export function followWait(promise: object, wait: Wait): void {
  if (mode !== 'on') return;
  waits.set(promise, wait);
  fresh++;
}

/** Called before the promise is resolved with the permit of this hold. */
export function followHold(promise: object, hold: Hold): void {
  if (mode === 'on') deliver(promise, hold);
}

/** Gives a hold to a flow that held another one before, such as a lock that was downgraded. */
export const followHeld = (hold: Hold, flow: Flow | undefined): void => give(hold, flow);

/** Gives a hold to the caller of `below`, which has not awaited anything. */
export function followTaken(hold: Hold, below: unknown): void {
  if (mode !== 'on') return;
  const frames = framesOf(below);
  if (frames.length === 1 && job !== undefined) give(hold, flowOf(jobs, job));
  // Among its callers, the first that reaches an `await` keeps the hold.
  else taken.push({ hold, keys: frames.map((_, index) => keyOf(frames.slice(index))) });
  fresh++;
}

/** Registers the promise that `run` returned; it settles when this flow has ended. */
export function followRun(promise: object, flow: Flow): void {
  if (mode === 'on') flows.set(promise, flow);
}

/** Calls `fn` as this flow, which has the hold until the result settles. */
export function runAs<Result>(flow: Flow, hold: Hold, fn: () => Result): Result {
  if (mode !== 'on') return fn();
  give(hold, flow);
  fresh++;
  const result = fn();
  if (result instanceof Promise) flow.awaits = [result];
  suspended(flow);
  return result;
}

/** Returns the waits that block a flow, through everything that it awaits. */
export function waitsOf(flow: Flow, visited = new Set<Flow>()): Wait[] {
  if (visited.has(flow)) return [];
  visited.add(flow);
  return flow.awaits.flatMap((promise) => {
    const wait = waits.get(promise);
    if (wait !== undefined && !wait.isOver) return [wait];
    const next = flows.get(promise);
    return next === undefined ? [] : waitsOf(next, visited);
  });
}
