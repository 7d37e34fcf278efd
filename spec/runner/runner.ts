/**
 * Plays one scenario on one implementation. It knows nothing of files, so it runs in every
 * runtime.
 *
 * Invariant: the runner keeps no model of the primitive. It only notes what each actor was told
 * (granted, refused, still waiting) and compares that with what the scenario expects.
 */
import type { Counters, Guard, Implementation, Subject } from './implementation.js';
import {
  type Capability,
  type Operation,
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

/** The capabilities that a scenario needs and an implementation lacks: why it is skipped. */
export function missingCapabilities(
  scenario: Scenario,
  implementation: Implementation,
): Capability[] {
  return (scenario.needs ?? []).filter((need) => !implementation.capabilities.has(need));
}

/** Throws a ScenarioFailure that names the step and every difference. */
export async function runScenario(
  primitive: Primitive,
  scenario: Scenario,
  implementation: Implementation,
): Promise<void> {
  let stage: Stage;
  try {
    stage = await Stage.create(primitive, scenario, implementation);
  } catch (error) {
    if (scenario.setup.refused === implementation.kindOf(error)) return;
    throw new ScenarioFailure(`the setup was refused: ${String(error)}`, { cause: error });
  }
  if (scenario.setup.refused) {
    throw new ScenarioFailure(`the setup should be refused as ${scenario.setup.refused}`);
  }
  try {
    for (const [index, step] of scenario.steps.entries()) {
      await stage.play(step);
      const differences = await stage.compare(step.expect);
      if (differences.length > 0) {
        const title = `step ${index + 1}: ${describe(step)}`;
        throw new ScenarioFailure([title, ...differences].join('\n  '));
      }
    }
  } finally {
    await stage.clear();
  }
}

/**
 * Plays steps on an implementation that is known to be right and writes down what happens, as a
 * scenario for others. Operations that an actor cannot begin in its present state are left out, so
 * the steps may be made up at random.
 */
export async function recordScenario(
  primitive: Primitive,
  { name, setup, steps }: Scenario,
  implementation: Implementation,
): Promise<Scenario> {
  const stage = await Stage.create(primitive, { setup, steps }, implementation);
  try {
    const recorded: Step[] = [];
    for (const step of steps) {
      const played = await stage.play(step, true);
      recorded.push({ ...played, expect: await stage.state() });
    }
    return { name, setup, steps: recorded };
  } finally {
    await stage.clear();
  }
}

const because = ' because ';

type ActorState = 'idle' | 'trying' | 'waiting' | 'draining' | 'holding';

interface Actor {
  readonly name: string;
  state: ActorState;
  key?: string | undefined;
  controller: WatchedController;
  hasTimeout: boolean;
  guard?: Guard | undefined;
  released?: Guard | undefined;
}

/** The actors of one scenario and what each was told. */
class Stage {
  /** In the order in which they entered their present state. */
  private readonly actors = new Map<string, Actor>();
  private readonly given = new Map<unknown, string>();
  private refused = new Map<string, string>();

  private constructor(
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
    return new Stage(subject, implementation, new Set(aborts.map(({ actor }) => actor)));
  }

  /** Plays a step until the world has settled. A lenient one leaves out what cannot be. */
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

  private canBegin({ actor, operation }: Operation): boolean {
    const { state, released } = this.actor(actor);
    switch (operation) {
      case 'acquire':
      case 'try-acquire':
      case 'drain':
        return state === 'idle';
      case 'release':
        return state === 'holding';
      case 'release-again':
        return released !== undefined;
      default:
        return true;
    }
  }

  private begin(operation: Operation): void {
    const actor = this.actor(operation.actor);
    if (!this.canBegin(operation)) {
      const problem = `${actor.name}, which is ${actor.state}, cannot ${operation.operation}`;
      throw new ScenarioFailure(problem);
    }
    switch (operation.operation) {
      case 'acquire': {
        const { actor: _, operation: __, aborted, ...rest } = operation;
        const signal = this.prepare(actor, 'waiting', operation);
        actor.key = operation.key;
        this.settles(actor, () => this.subject.acquire({ ...rest, ...signal }));
        break;
      }
      case 'drain': {
        const { actor: _, operation: __, aborted, ...rest } = operation;
        const signal = this.prepare(actor, 'draining', operation);
        this.settles(actor, () => must(this.subject.drain, this.subject)({ ...rest, ...signal }));
        break;
      }
      case 'try-acquire': {
        const { actor: _, operation: __, ...rest } = operation;
        actor.key = operation.key;
        this.enter(actor, 'trying');
        this.settles(actor, () => must(this.subject.tryAcquire, this.subject)(rest));
        break;
      }
      case 'release': {
        const guard = actor.guard as Guard;
        actor.released = guard;
        actor.guard = undefined;
        this.enter(actor, 'idle');
        this.attempt(actor, () => guard.release());
        break;
      }
      case 'release-again': {
        const guard = actor.released as Guard;
        // An error is as right as no effect, so it is not noted.
        void attempt(() => guard.release()).catch(() => undefined);
        break;
      }
      case 'abort':
        if (operation.reason === undefined) actor.controller.abort();
        else actor.controller.abort(this.reason(operation.reason));
        break;
      case 'close':
        this.attempt(actor, () => {
          const close = must(this.subject.close, this.subject);
          return operation.reason === undefined ? close() : close(this.reason(operation.reason));
        });
        break;
      case 'set-limit':
        this.attempt(actor, () => must(this.subject.setLimit, this.subject)(operation.limit));
        break;
    }
  }

  /** Everything that is not as expected, one line each. */
  async compare(expected: State | undefined): Promise<string[]> {
    const differences = new Differences();
    const wanted = Object.entries(expected?.refused ?? {});
    differences.compare(
      'refused',
      [...this.refused].map(([name, text]) => `${name} ${text}`).sort(),
      wanted.map(([name, refusal]) => `${name} ${textOf(refusal)}`).sort(),
    );
    this.refused = new Map();
    const whole = await this.subject.observe();
    if (expected) {
      const { holding = [], waiting = [], draining = [] } = expected;
      const found = (state: ActorState) => names(this.inState(state));
      differences.compare('holding', found('holding'), holding);
      differences.compare('waiting', found('waiting').sort(), [...waiting].sort());
      differences.compare('draining', found('draining').sort(), [...draining].sort());
      if (whole.queue) differences.compare('queue', this.queued(whole.queue), waiting);
      await this.compareCounters(differences, whole, expected);
    }
    await this.compareInvariants(differences, whole);
    return differences.lines;
  }

  private async compareCounters(
    differences: Differences,
    whole: Counters,
    { available, limit, closed, owner, keys }: State,
  ): Promise<void> {
    differences.compareKnown('limit', whole.limit, limit);
    differences.compareKnown('closed', whole.closed, closed);
    differences.compareKnown('owner', whole.owner, owner);
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

  /** What must hold after every step, whatever the scenario says. */
  private async compareInvariants(differences: Differences, whole: Counters): Promise<void> {
    const waiting = this.inState('waiting');
    for (const key of new Set([...this.actors.values()].map((actor) => actor.key))) {
      const counters = key === undefined ? whole : await this.subject.observe(key);
      const here = waiting.filter((actor) => actor.key === key);
      const what = key === undefined ? 'count of waiters' : `count of waiters of ${key}`;
      differences.compareKnown(what, counters.waiting, here.length);
    }
    const pending = [...waiting, ...this.inState('draining')];
    for (const actor of this.actors.values()) {
      if (pending.includes(actor)) continue;
      const what = `listeners left on the signal of ${actor.name}`;
      differences.compare(what, actor.controller.listeners, 0);
    }
    const timers = this.implementation.timers?.() ?? 0;
    const most = pending.filter((actor) => actor.hasTimeout).length;
    if (timers > most) differences.compare('armed timers', timers, most);
  }

  /** What a scenario would expect now, apart from invariants. */
  async state(): Promise<State> {
    const { available, limit, closed, owner, keys, queue } = await this.subject.observe();
    const refused = Object.fromEntries(
      [...this.refused].map(([name, text]) => {
        const [kind, reason] = text.split(because);
        return [name, reason === undefined ? kind : { [kind as string]: reason }];
      }),
    );
    this.refused = new Map();
    return {
      holding: names(this.inState('holding')),
      waiting: queue ? this.queued(queue) : names(this.inState('waiting')),
      draining: names(this.inState('draining')),
      refused: refused as Record<string, Refusal>,
      ...(available === undefined ? {} : { available }),
      ...(limit === undefined ? {} : { limit }),
      ...(closed === undefined ? {} : { closed }),
      ...(owner === undefined ? {} : { owner: owner as string | null }),
      ...(keys === undefined ? {} : { keys: [...keys] }),
    };
  }

  /** Lets go of everything, so that nothing of this scenario is left for the next one. */
  async clear(): Promise<void> {
    // Who waits in a pause and has no signal leaves only when the pause is over.
    await this.subject.setLimit?.(1);
    for (let round = 0; round <= this.actors.size; round++) {
      const busy = [...this.actors.values()].filter((actor) => actor.state !== 'idle');
      if (busy.length === 0) return;
      for (const actor of busy) {
        actor.controller.abort();
        if (actor.state === 'holding') this.begin({ actor: actor.name, operation: 'release' });
      }
      await this.implementation.settle();
    }
  }

  private actor(name: string): Actor {
    let actor = this.actors.get(name);
    if (!actor) {
      actor = { name, state: 'idle', controller: new WatchedController(), hasTimeout: false };
      this.actors.set(name, actor);
    }
    return actor;
  }

  private inState(state: ActorState): Actor[] {
    return [...this.actors.values()].filter((actor) => actor.state === state);
  }

  /** Who waits, in the order of an implementation that can look into its queue. */
  private queued(signals: readonly AbortSignal[]): string[] {
    const waiting = this.inState('waiting');
    return signals.flatMap((signal) =>
      names(waiting.filter((actor) => actor.controller.signal === signal)),
    );
  }

  private enter(actor: Actor, state: ActorState): void {
    actor.state = state;
    this.actors.delete(actor.name);
    this.actors.set(actor.name, actor);
  }

  private prepare(
    actor: Actor,
    state: ActorState,
    options: { timeout?: number; aborted?: true },
  ): { signal?: AbortSignal } {
    actor.controller = new WatchedController();
    actor.hasTimeout = options.timeout !== undefined;
    if (options.aborted) actor.controller.abort();
    this.enter(actor, state);
    const { signal } = actor.controller;
    return this.implementation.sparing && !this.aborted.has(actor.name) ? {} : { signal };
  }

  /** For an operation that gives the actor something, now or later. */
  private settles(actor: Actor, operation: () => unknown): void {
    const began = actor.state;
    attempt(operation).then(
      (guard) => {
        if (guard && began !== 'draining') actor.guard = guard as Guard;
        else if (began === 'trying') this.refused.set(actor.name, 'unavailable');
        this.enter(actor, actor.guard ? 'holding' : 'idle');
      },
      (error) => {
        this.enter(actor, 'idle');
        this.refuse(actor, error);
      },
    );
  }

  /** For an operation that gives nothing and can only go wrong. */
  private attempt(actor: Actor, operation: () => unknown): void {
    attempt(operation).catch((error) => this.refuse(actor, error));
  }

  private refuse(actor: Actor, error: unknown): void {
    const { signal } = actor.controller;
    const given = this.given.get(error);
    let kind: string | undefined;
    if (signal.aborted && error === signal.reason) kind = 'aborted';
    else if (given !== undefined) kind = 'closed';
    else kind = this.implementation.kindOf(error) ?? `unknown error ${String(error)}`;
    this.refused.set(actor.name, given === undefined ? kind : kind + because + given);
  }

  /** The same text is the same reason, so that it is known again when it comes back. */
  private reason(text: string): unknown {
    for (const [reason, known] of this.given) if (known === text) return reason;
    const reason = new Error(text);
    this.given.set(reason, text);
    return reason;
  }
}

class Differences {
  readonly lines: string[] = [];

  compare(what: string, found: unknown, wanted: unknown): void {
    const [foundText, wantedText] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (foundText === wantedText) return;
    this.lines.push(`${what}: expected ${wantedText}, found ${foundText}`);
  }

  /** Only where the implementation has the counter and the scenario speaks of it. */
  compareKnown(what: string, found: unknown, wanted: unknown): void {
    if (found !== undefined && wanted !== undefined) this.compare(what, found, wanted);
  }
}

/** An AbortController that counts the listeners on its signal. */
class WatchedController extends AbortController {
  private readonly present = new Set<unknown>();

  constructor() {
    super();
    const { signal, present } = this;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...parameters: Parameters<typeof addEventListener>) => {
      present.add(parameters[1]);
      addEventListener.apply(signal, parameters);
    };
    signal.removeEventListener = (...parameters: Parameters<typeof removeEventListener>) => {
      present.delete(parameters[1]);
      removeEventListener.apply(signal, parameters);
    };
  }

  /** A signal that fired keeps nobody alive and never fires again. */
  get listeners(): number {
    return this.signal.aborted ? 0 : this.present.size;
  }
}

/** Begins at once; what it throws or rejects with becomes a rejection. */
async function attempt<T>(operation: () => T): Promise<Awaited<T>> {
  return await operation();
}

function must<T extends (...parameters: never[]) => unknown>(method: T | undefined, self: Subject) {
  if (!method) throw new Error('the implementation lacks an operation that it claims to have');
  return method.bind(self) as T;
}

function names(actors: Actor[]): string[] {
  return actors.map((actor) => actor.name);
}

function textOf(refusal: Refusal): string {
  if (typeof refusal === 'string') return refusal;
  return Object.entries(refusal)
    .map(([kind, reason]) => kind + because + reason)
    .join();
}

function describe(step: Step): string {
  if ('advance' in step) return `the clock moves by ${step.advance} ms`;
  return operationsOf(step)
    .map(({ actor, operation, ...options }) => {
      const text = Object.entries(options).map(([name, value]) => ` ${name} ${value}`);
      return `${actor} ${operation}${text.join('')}`;
    })
    .join(', then at once ');
}
