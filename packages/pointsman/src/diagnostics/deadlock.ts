/**
 * Deadlocks: waits that cannot end, because each waits for what is held by somebody who is kept by another of them.
 *
 * All waits that can be reached from one are first taken to be stuck; those that could end even if the others never do are
 * then taken out, until nothing changes. What is left is stuck for good, as long as permits are given back by whoever holds
 * them: the greatest fixed point, which is what several permits and several holders need. A search for a circle would report
 * a semaphore that has one more holder, who is free to go on.
 */

import { emit } from './events.js';
import { canFollow, onSuspend, prove, waitsOf } from './lines.js';
import type { Context, Hold, Line, Request, Wait } from './record.js';
import { activityOf } from './snapshot.js';

/** What is held, and the waits that keep it from coming back. */
type Obstacle = readonly [hold: Hold, waits: readonly Wait[]];

interface Node {
  readonly wait: Wait;
  readonly obstacles: readonly Obstacle[];
  /** Those who stand before it in the queue, where that can matter. */
  readonly ahead: readonly Wait[];
}

/** Whether two requests are about the same thing. */
const meet = (one: Request, other: Request): boolean =>
  one.keys === undefined || other.keys === undefined || one.keys.some((key) => has(other, key));

const has = ({ keys }: Request, key: unknown): boolean => keys === undefined || keys.includes(key);

function contextWaits({ waits }: Context): Wait[] {
  return [...waits].filter(({ isOver }) => !isOver);
}

/** What keeps the holder from giving it back. If that is not sure, it is looked at again when it is. */
function waitsBehind(hold: Hold, wait: Wait): Wait[] {
  const { line, context } = hold;
  if (!canFollow()) return context === undefined ? [] : contextWaits(context);
  const proof = prove(hold);
  void proof?.then(() => suspect(wait));
  return line === undefined || proof !== undefined ? [] : waitsOf(line);
}

function nodeOf(wait: Wait): Node {
  const { watched } = wait;
  const obstacles = watched.holds
    .filter((hold) => meet(wait, hold))
    .map((hold) => [hold, waitsBehind(hold, wait)] as const)
    .filter(([, waits]) => waits.length > 0);
  const ahead: Wait[] = [];
  // Whoever wants less than all may have to wait behind somebody who wants more.
  if (watched.kind.inOrder && !wait.all) {
    for (const other of watched.waits) {
      if (other === wait) break;
      const isBefore = other.grants && other.priority >= wait.priority;
      if (isBefore && meet(wait, other)) ahead.push(other);
    }
  }
  return { wait, obstacles, ahead };
}

/** Whether the wait cannot end while these are stuck. */
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

/** The nodes of all waits that are stuck, of those that can be reached from one. */
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

interface Step {
  readonly wait: Wait;
  /** What the next one holds. */
  readonly holds: readonly Hold[];
}

/** From a wait that is stuck to what it is stuck on, until that comes round. */
function circleFrom(start: Wait, stuck: ReadonlyMap<Wait, Node>): Step[] {
  const steps: Step[] = [];
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

function look(start: Wait): void {
  if (start.isOver || reported.has(start)) return;
  const stuck = stuckFrom(start);
  if (!stuck.has(start)) return;
  const steps = circleFrom(start, stuck);
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
let lines = new Set<Line>();
let isPlanned = false;

/** What a wait is for is known when the function that awaits it, and those that await that, have come to their awaits. */
function plan(): void {
  if (isPlanned) return;
  isPlanned = true;
  setTimeout(() => {
    isPlanned = false;
    const found = new Set([...waits, ...[...lines].flatMap((line) => waitsOf(line))]);
    waits = new Set();
    lines = new Set();
    for (const wait of found) look(wait);
  });
}

/** Looks whether this wait can end, soon. */
export function suspect(wait: Wait): void {
  if (!wait.forHolders) return;
  waits.add(wait);
  plan();
}

/** Looks at all who wait behind a new holder. */
export function suspectAll(watched: { readonly waits: Iterable<Wait> }): void {
  for (const wait of watched.waits) suspect(wait);
}

onSuspend((line) => {
  lines.add(line);
  plan();
});
