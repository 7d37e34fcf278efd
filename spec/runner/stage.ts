/**
 * The actors of one scenario.
 *
 * Invariant: the stage contains no model of the primitive. It records the outcome for each actor (granted, refused, still
 * waiting) and compares it with the expected state.
 */
import { WatchedController } from './controller.js';
import { Differences } from './differences.js';
import type { Counters, Guard, Implementation, Subject } from './implementation.js';
import { type Business, type Hold, type Rule, rules } from './operations.js';
import {
  type Operation,
  type OperationName,
  type OperationOptions,
  operationsOf,
  type Primitive,
  type Refusal,
  type Scenario,
  type State,
  type Step,
} from './scenario.js';

export class ScenarioFailure extends Error {
  override name = 'ScenarioFailure';
}

/** The lists of a state: actors by what they wait for, and idle actors by what they hold. */
const lists = ['holding', 'reading', 'writing', 'waiting', 'draining'] as const;
/** Compared if the scenario mentions them. */
const counters = ['limit', 'closed', 'owner', 'length', 'count', 'value'] as const;

interface Actor {
  readonly name: string;
  /** The pending operation; undefined when the actor is idle. */
  busy?: Business | undefined;
  held?: { readonly guard: Guard; readonly hold: Hold } | undefined;
  released?: Guard | undefined;
  key?: string | undefined;
  controller: WatchedController;
  hasTimeout: boolean;
}

export class Stage {
  /** The actors, in the order in which they entered their current state. */
  private readonly actors = new Map<string, Actor>();
  private readonly given = new Map<unknown, string>();
  private refused = new Map<string, Refusal>();
  private received = new Map<string, unknown>();

  private constructor(
    private readonly primitive: Primitive,
    private readonly subject: Subject,
    private readonly implementation: Implementation,
    private readonly aborted: ReadonlySet<string>,
  ) {}

  static async create(
    primitive: Primitive,
    { setup, steps }: Pick<Scenario, 'setup' | 'steps'>,
    implementation: Implementation,
  ): Promise<Stage> {
    const subject = await implementation.create(primitive, setup);
    const aborts = steps
      .flatMap(operationsOf)
      .filter((operation) => operation.operation === 'abort' || 'aborted' in operation);
    const aborted = new Set(aborts.map(({ actor }) => actor));
    return new Stage(primitive, subject, implementation, aborted);
  }

  /** Plays a step until the system has settled. If lenient, omits operations that an actor cannot begin. */
  async play(step: Step, lenient = false): Promise<Step> {
    const played: Operation[] = [];
    for (const operation of operationsOf(step)) {
      if (lenient && !this.canBegin(operation)) continue;
      this.begin(operation);
      played.push(operation);
    }
    if ('advance' in step) await this.implementation.advance(step.advance);
    await this.implementation.settle();
    return 'advance' in step ? step : { together: played };
  }

  private canBegin({ actor: name, operation }: Operation): boolean {
    const { busy, held, released } = this.actor(name);
    if (operation === 'release-again') return released !== undefined;
    // The type of the grant depends on the operation.
    if (operation === 'release') return busy === undefined && held !== undefined;
    const { begins } = this.rule(operation);
    if (begins === 'any') return true;
    if (begins === 'free') return busy === undefined && held === undefined;
    return busy === undefined && (begins === 'idle' || held?.hold === begins);
  }

  private rule(operation: OperationName): Rule {
    const rule = rules[this.primitive][operation];
    if (!rule) throw new ScenarioFailure(`a ${this.primitive} has no ${operation}`);
    return rule;
  }

  private begin(operation: Operation): void {
    const actor = this.actor(operation.actor);
    if (!this.canBegin(operation)) {
      const problem = `${actor.name}, which is ${actor.busy ?? actor.held?.hold ?? 'idle'}, cannot`;
      throw new ScenarioFailure(`${problem} ${operation.operation}`);
    }
    switch (operation.operation) {
      case 'release': {
        const guard = actor.held?.guard as Guard;
        actor.released = guard;
        actor.held = undefined;
        this.enter(actor);
        this.attempt(actor, () => guard.release());
        break;
      }
      case 'release-again': {
        const guard = actor.released as Guard;
        // An error and no effect are both correct, so it is not recorded.
        void attempt(() => guard.release()).catch(() => undefined);
        break;
      }
      case 'abort':
        if (operation.reason === undefined) actor.controller.abort();
        else actor.controller.abort(this.reason(operation.reason));
        break;
      default:
        this.perform(actor, operation, this.rule(operation.operation));
    }
  }

  private perform(actor: Actor, operation: Operation, rule: Rule): void {
    const { actor: _, operation: name, aborted, reason, ...options } = operation;
    const method = methodOf(this.subject, name);
    if (rule.while === undefined) {
      const given: unknown[] = Object.values(options);
      if (reason !== undefined) given.push(this.reason(reason));
      this.attempt(actor, () => method(...given));
      return;
    }
    const signal = rule.while === 'trying' ? {} : this.prepare(actor, operation);
    const held = actor.held?.guard;
    if (rule.gives && !held) actor.key = operation.key;
    // A downgrade holds the lock all the time, and keeps its place in the order.
    const keepsPlace = rule.while === 'trying' && rule.gives !== undefined && held !== undefined;
    if (keepsPlace) actor.released = held;
    actor.busy = rule.while;
    if (!keepsPlace) this.enter(actor);
    const end = (note: () => void) => {
      actor.busy = undefined;
      note();
      if (!keepsPlace) this.enter(actor);
    };
    attempt(() => method({ ...options, ...signal }, held)).then(
      (answer) => end(() => this.note(actor, answer, rule)),
      (error) => end(() => this.refuse(actor, error)),
    );
  }

  /** Records a grant. */
  private note(actor: Actor, answer: unknown, rule: Rule): void {
    if (rule.while === 'trying' && !answer) this.refused.set(actor.name, 'unavailable');
    else if (rule.gives) actor.held = { guard: answer as Guard, hold: rule.gives };
    else if (rule.tells && answer !== undefined) this.received.set(actor.name, answer);
  }

  /** Returns the differences from the expected state, one line each. */
  async compare(expected: State | undefined): Promise<string[]> {
    const differences = new Differences();
    differences.compare('refused', sorted(this.refused), sorted(expected?.refused));
    differences.compare('received', sorted(this.received), sorted(expected?.received));
    this.refused = new Map();
    this.received = new Map();
    const whole = await this.subject.observe();
    if (expected) {
      for (const list of lists) {
        const [found, wanted] = [this.list(list), expected[list] ?? []];
        // With keys, grants in one step have an order only per key.
        const isQueue = list === 'waiting' || list === 'draining';
        const hasOrder =
          this.primitive !== 'lock-all' && !this.implementation.unordered && !isQueue;
        if (hasOrder) differences.compare(list, found, wanted);
        else differences.compare(list, found.sort(), [...wanted].sort());
      }
      if (whole.queue) {
        differences.compare('queue', this.queued(whole.queue), expected.waiting ?? []);
      }
      await this.compareCounters(differences, whole, expected);
    }
    await this.compareInvariants(differences, whole);
    return differences.lines;
  }

  private async compareCounters(
    differences: Differences,
    whole: Counters,
    expected: State,
  ): Promise<void> {
    for (const name of counters) differences.compareKnown(name, whole[name], expected[name]);
    const { available, keys } = expected;
    differences.compareKnown(
      'keys',
      whole.keys && [...whole.keys].sort(),
      keys && [...keys].sort(),
    );
    if (typeof available !== 'object') {
      differences.compareKnown('available', whole.available, available);
      return;
    }
    for (const [key, wanted] of Object.entries(available)) {
      const counters = await this.subject.observe(key);
      differences.compareKnown(`available of ${key}`, counters.available, wanted);
    }
  }

  /** The invariants that must hold after every step, in every scenario. */
  private async compareInvariants(differences: Differences, whole: Counters): Promise<void> {
    const actors = [...this.actors.values()];
    for (const key of new Set([undefined, ...actors.map((actor) => actor.key)])) {
      const own = key === undefined ? whole : await this.subject.observe(key);
      const here = actors.filter((actor) => key === undefined || actor.key === key);
      const of = key === undefined ? '' : ` of ${key}`;
      for (const count of ['waiting', 'reading', 'writing', 'subscribed'] as const) {
        const found = here.filter(({ busy, held }) => busy === count || held?.hold === count);
        differences.compareKnown(`count of those ${count}${of}`, own[count], found.length);
      }
    }
    const pending = actors.filter(({ busy }) => busy);
    for (const actor of actors) {
      if (pending.includes(actor)) continue;
      const what = `listeners left on the signal of ${actor.name}`;
      differences.compare(what, actor.controller.listeners, 0);
    }
    const timers = this.implementation.timers?.() ?? 0;
    const most = pending.filter((actor) => actor.hasTimeout).length;
    if (timers > most) differences.compare('armed timers', timers, most);
  }

  /** Returns the current state in the form of a scenario's expectation. */
  async state(): Promise<State> {
    const whole = await this.subject.observe();
    const { queue, keys, available } = whole;
    const state: Record<string, unknown> = {
      refused: Object.fromEntries(this.refused),
      received: Object.fromEntries(this.received),
    };
    for (const list of lists) state[list] = this.list(list);
    if (queue) state.waiting = this.queued(queue);
    for (const name of counters) if (whole[name] !== undefined) state[name] = whole[name];
    if (available !== undefined) state.available = available;
    if (keys) state.keys = [...keys];
    this.refused = new Map();
    this.received = new Map();
    return state as State;
  }

  /** Aborts and releases everything, so that this scenario does not affect the next one. */
  async clear(): Promise<void> {
    // A waiter without a signal leaves a pause only when the pause ends.
    await this.subject.setLimit?.(1);
    for (let round = 0; round <= this.actors.size; round++) {
      const busy = [...this.actors.values()].filter((actor) => actor.busy || actor.held);
      if (busy.length === 0) break;
      for (const actor of busy) {
        actor.controller.abort();
        if (!actor.busy) this.begin({ actor: actor.name, operation: 'release' });
      }
      await this.implementation.settle();
    }
    // A waiter for actors that never arrive leaves only when its timeout elapses.
    await this.subject.close?.();
    if (this.implementation.timers?.()) await this.implementation.advance(2 ** 31 - 1);
  }

  private actor(name: string): Actor {
    let actor = this.actors.get(name);
    if (!actor) {
      actor = { name, controller: new WatchedController(), hasTimeout: false };
      this.actors.set(name, actor);
    }
    return actor;
  }

  private list(list: (typeof lists)[number]): string[] {
    const actors = [...this.actors.values()];
    return names(actors.filter(({ busy, held }) => (busy ?? held?.hold) === list));
  }

  /** Returns the waiting actors, in the order of an implementation whose queue is visible. */
  private queued(signals: readonly AbortSignal[]): string[] {
    const actors = [...this.actors.values()].filter(({ busy }) => busy === 'waiting');
    return signals.flatMap((signal) =>
      names(actors.filter((actor) => actor.controller.signal === signal)),
    );
  }

  /** Moves the actor to the end of the order. */
  private enter(actor: Actor): void {
    this.actors.delete(actor.name);
    this.actors.set(actor.name, actor);
  }

  private prepare(actor: Actor, options: OperationOptions): { signal?: AbortSignal } {
    actor.controller = new WatchedController();
    actor.hasTimeout = options.timeout !== undefined;
    if (options.aborted) actor.controller.abort();
    const { signal } = actor.controller;
    return this.implementation.sparing && !this.aborted.has(actor.name) ? {} : { signal };
  }

  /** Handles an operation without a result, which can only fail. */
  private attempt(actor: Actor, operation: () => unknown): void {
    attempt(operation).catch((error) => this.refuse(actor, error));
  }

  private refuse(actor: Actor, error: unknown): void {
    const { signal } = actor.controller;
    const given = this.given.get(error);
    let kind: Refusal | string | undefined;
    if (signal.aborted && error === signal.reason) kind = 'aborted';
    else if (given !== undefined) kind = 'closed';
    else kind = this.implementation.kindOf(error) ?? `unknown error ${String(error)}`;
    const refusal = given === undefined ? kind : { [kind as string]: given };
    this.refused.set(actor.name, refusal as Refusal);
  }

  /** Returns one reason for each text, so that the reason is recognized when it comes back. */
  private reason(text: string): unknown {
    for (const [reason, known] of this.given) if (known === text) return reason;
    const reason = new Error(text);
    this.given.set(reason, text);
    return reason;
  }
}

/** Begins an operation at once; an error that it throws becomes a rejection. */
async function attempt<T>(operation: () => T): Promise<Awaited<T>> {
  return await operation();
}

/** Returns the method of the adapter: `tryAcquire` for `try-acquire`. */
function methodOf(subject: Subject, operation: OperationName) {
  const name = operation.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const method = subject[name as keyof Subject];
  if (!method) throw new Error(`the implementation lacks ${name}, which it claims to have`);
  return (method as (...parameters: unknown[]) => unknown).bind(subject);
}

/** Sorts by actor, so that the order of outcomes is not compared. */
function sorted(told: Iterable<[string, unknown]> | object = {}): [string, unknown][] {
  const entries = Symbol.iterator in told ? [...told] : Object.entries(told);
  return entries.sort(([one], [other]) => (one < other ? -1 : 1));
}

function names(actors: Actor[]): string[] {
  return actors.map((actor) => actor.name);
}
