/**
 * Detects deadlocks: waits that can never end, because each waits for a holder that waits for another of them.
 *
 * The algorithm assumes that all waits reachable from one are stuck, and then removes every wait that could end although
 * the others never do, until none is left to remove. The rest is deadlocked, provided that only holders release their
 * permits. This greatest fixed point handles several permits and several holders; a search for a cycle would report a
 * semaphore that has another holder which is free to continue.
 */

import { emit } from './events.js';
import { canFollow, onSuspend, prove, waitsOf } from './flows.js';
import type { Context, Flow, Hold, Request, Wait } from './record.js';
import { activityOf } from './snapshot.js';

/** A hold, and the waits that prevent its release. */
type Obstacle = readonly [hold: Hold, waits: readonly Wait[]];

interface Node {
  readonly wait: Wait;
  readonly obstacles: readonly Obstacle[];
  /** The earlier waits in its queue, if they can block it. */
  readonly ahead: readonly Wait[];
}

/** Returns whether two requests share a key. */
const overlap = (one: Request, other: Request): boolean =>
  one.keys === undefined || other.keys === undefined || one.keys.some((key) => has(other, key));

const has = ({ keys }: Request, key: unknown): boolean => keys === undefined || keys.includes(key);

function contextWaits({ waits }: Context): Wait[] {
  return [...waits].filter(({ isOver }) => !isOver);
}

/** Returns the waits that prevent the release of a hold. If its owner is not certain yet, checks again when it is. */
function waitsBehind(hold: Hold, wait: Wait): Wait[] {
  const { flow, context } = hold;
  if (!canFollow()) return context === undefined ? [] : contextWaits(context);
  const proof = prove(hold);
  void proof?.then(() => suspect(wait));
  return flow === undefined || proof !== undefined ? [] : waitsOf(flow);
}

function nodeOf(wait: Wait): Node {
  const { watched } = wait;
  const obstacles = watched.holds
    .filter((hold) => overlap(wait, hold))
    .map((hold) => [hold, waitsBehind(hold, wait)] as const)
    .filter(([, waits]) => waits.length > 0);
  const ahead: Wait[] = [];
  // A request for a few permits may wait behind an earlier request for more.
  if (watched.kind.inOrder && !wait.all) {
    for (const other of watched.waits) {
      if (other === wait) break;
      const isBefore = other.grants && other.priority >= wait.priority;
      if (isBefore && overlap(wait, other)) ahead.push(other);
    }
  }
  return { wait, obstacles, ahead };
}

/** Returns whether the wait cannot end while the waits in `stuck` do not. */
function isStuck({ wait, obstacles, ahead }: Node, stuck: ReadonlySet<Wait>): boolean {
  const { watched, all, keys = [undefined], permits } = wait;
  const kept = obstacles.filter(([, waits]) => waits.some((each) => stuck.has(each)));
  return (
    ahead.some((each) => stuck.has(each)) ||
    (all && kept.length > 0) ||
    kept.some(([hold]) => hold.all) ||
    keys.some((key) => {
      const left = kept
        .filter(([hold]) => has(hold, key))
        .reduce((left, [hold]) => left - hold.permits, watched.limit);
      return left < permits;
    })
  );
}

/** Returns the stuck waits among those reachable from `start`. */
function stuckFrom(start: Wait): Map<Wait, Node> {
  const nodes = new Map<Wait, Node>();
  const open = [start];
  for (let wait = open.pop(); wait !== undefined; wait = open.pop()) {
    if (nodes.has(wait) || !wait.forHolders) continue;
    const node = nodeOf(wait);
    nodes.set(wait, node);
    open.push(...node.ahead, ...node.obstacles.flatMap(([, waits]) => waits));
  }
  for (let before = -1; before !== nodes.size; ) {
    before = nodes.size;
    const stuck = new Set(nodes.keys());
    for (const [wait, node] of nodes) if (!isStuck(node, stuck)) nodes.delete(wait);
  }
  return nodes;
}

interface Member {
  readonly wait: Wait;
  /** The holds of the next member that this one waits for. */
  readonly holds: readonly Hold[];
}

/** Follows a stuck wait to the wait that it is stuck on, until a wait repeats. Returns the members of that cycle. */
function cycleFrom(start: Wait, stuck: ReadonlyMap<Wait, Node>): Member[] {
  const steps: Member[] = [];
  let wait = start;
  while (steps.every((step) => step.wait !== wait)) {
    const { obstacles = [], ahead = [] } = stuck.get(wait) ?? {};
    const kept = obstacles.map(
      ([hold, waits]) => [hold, waits.find((each) => stuck.has(each))] as const,
    );
    const next = kept.find(([, behind]) => behind)?.[1] ?? ahead.find((each) => stuck.has(each));
    if (next === undefined) return [];
    steps.push({ wait, holds: kept.filter(([, behind]) => behind === next).map(([hold]) => hold) });
    wait = next;
  }
  return steps.slice(steps.findIndex((step) => step.wait === wait));
}

const reported = new WeakSet<Wait>();

function check(start: Wait): void {
  if (start.isOver || reported.has(start)) return;
  const stuck = stuckFrom(start);
  if (!stuck.has(start)) return;
  const steps = cycleFrom(start, stuck);
  if (steps.length === 0 || steps.every(({ wait }) => reported.has(wait))) return;
  for (const { wait } of steps) reported.add(wait);
  const members = steps.map(({ wait }, index) => ({
    ...(wait.context?.name !== undefined && { context: wait.context.name }),
    holds: (steps.at(index - 1)?.holds ?? []).map(activityOf),
    waitsFor: activityOf(wait),
  }));
  emit('deadlock', { members });
}

let waits = new Set<Wait>();
let flows = new Set<Flow>();
let isPlanned = false;

/** Checks after a timer: first the awaiting function, and those that await it, must reach their `await`. */
function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  setTimeout(() => {
    isPlanned = false;
    const found = new Set([...waits, ...[...flows].flatMap((flow) => waitsOf(flow))]);
    waits = new Set();
    flows = new Set();
    for (const wait of found) check(wait);
  });
}

/** Schedules a check of this wait. */
export function suspect(wait: Wait): void {
  if (!wait.forHolders) return;
  waits.add(wait);
  plan();
}

/** Schedules a check of all waits behind a new holder. */
export function suspectAll(watched: { readonly waits: Iterable<Wait> }): void {
  for (const wait of watched.waits) suspect(wait);
}

onSuspend((flow) => {
  flows.add(flow);
  plan();
});
