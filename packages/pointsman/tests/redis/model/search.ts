/** Explores every reachable state breadth first, so the violation that it finds has a shortest path. */
import { createHash } from 'node:crypto';
import { TICK, TTL } from './client.js';
import { checkExclusion, Violation } from './rules.js';
import { type Setup, signature, stepsFrom, World } from './world.js';

export interface Found {
  readonly setup: string;
  readonly states: number;
  /** Whether all reachable states were explored. */
  readonly complete: boolean;
  /** The violation and the steps to it. */
  readonly violation?: string;
  readonly trace?: readonly string[];
}

export interface Limits {
  readonly states: number;
  /** Every `ends`th state is checked for a good end. */
  readonly ends: number;
}

export function search(setup: Setup, { states, ends }: Limits): Found {
  const seen = new Set<string>();
  const visited: { readonly parent: number; readonly step: string }[] = [];
  const traceOf = (index: number): string[] => {
    const steps: string[] = [];
    for (let at = index; at > 0; at = visited[at]?.parent as number) {
      steps.unshift(visited[at]?.step as string);
    }
    return steps;
  };
  let layer: { readonly world: World; readonly index: number }[] = [];
  const visit = (world: World, parent: number, step: string): void => {
    const id = createHash('md5').update(signature(world)).digest('base64');
    if (seen.has(id)) return;
    seen.add(id);
    layer.push({ world, index: visited.push({ parent, step }) - 1 });
  };
  visit(new World(setup), -1, '');
  while (layer.length > 0) {
    const now = layer;
    layer = [];
    for (const { world, index } of now) {
      let step = '';
      try {
        checkExclusion(world);
        if (index % ends === 0) {
          step = 'then no more faults happen';
          checkEnd(world.copy());
        }
        for (const [name, take] of stepsFrom(world)) {
          step = name;
          const next = world.copy();
          take(next);
          visit(next, index, name);
        }
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        const trace = [...traceOf(index), step];
        return {
          setup: setup.name,
          states: visited.length,
          complete: false,
          violation: error.message,
          trace,
        };
      }
      if (visited.length >= states) {
        return { setup: setup.name, states: visited.length, complete: false };
      }
    }
  }
  return { setup: setup.name, states: visited.length, complete: true };
}

/** Without further faults, every waiter is served, and nothing remains in the end. */
function checkEnd(world: World): void {
  for (let tick = 0; tick < 15; tick++) {
    settle(world);
    world.now += TICK;
    for (const client of world.clients) if (client.alive && !client.idle) client.renew(world.now);
  }
  settle(world);
  for (const client of world.clients) {
    for (const { id, held } of client.claims) {
      if (!held) throw new Violation(`${id} waits forever`);
    }
  }
  for (const client of world.clients) {
    for (const claim of client.claims) client.drop(claim, world.now);
    if (client.alive) client.leave(world.now);
  }
  settle(world);
  // Crashed processes and the guard end when a later batch looks at them.
  world.now += TTL;
  for (let i = 0; i < 3; i++) {
    const observer = world.clients.find(({ alive }) => alive);
    observer?.renew(world.now);
    settle(world);
    world.now += TTL;
  }
  const observer = world.clients.find(({ alive }) => alive);
  if (observer === undefined) return;
  observer.leave(world.now);
  settle(world);
  const { clock, locks, sessions, requests } = world.server;
  if (clock || locks.size + sessions.size + requests.size > 0) {
    throw new Violation(
      `left behind: ${JSON.stringify([clock, [...locks], [...sessions], [...requests]])}`,
    );
  }
}

/** Delivers everything; each holder releases, unless its lock is revocable and not requested. */
function settle(world: World): void {
  for (let round = 0; round === 0 || !world.quiet; round++) {
    if (round > 100) throw new Violation('the processes never come to rest');
    for (const client of world.clients) {
      const { now } = world;
      while (client.strays.length > 0) world.deliverStray(client);
      if (!client.alive) continue;
      if (!client.connected) client.resume(now, world.run);
      if (client.ear !== 'on' && client.ear !== 'shut') client.listen(now);
      if (client.claims.some(({ held }) => held) && !client.believes(now)) client.lapse(now);
      while (client.requestsOut.length > 0) world.deliver(client);
      while (client.repliesIn.length > 0) client.receive(now);
      while (client.messagesIn.length > 0) world.hear(client);
      if (client.alarm === 'soon') client.alarmed(now);
      checkExclusion(world);
      for (const claim of client.claims) {
        if (claim.held && (!claim.revocable || claim.wanted)) client.drop(claim, now);
      }
    }
  }
}
