/** What each process was granted and has not given back. */
import type { Grant, Group, Line } from './log.js';
import type { Plan } from './plans.js';

export class Supply {
  readonly grant: Grant;
  readonly groups: readonly Group[];
  readonly plan: Plan;
  /** The limiter of its key. */
  readonly lane: string;
  /** The moments at which starts of this lease were, by the store's clock. */
  readonly uses: number[] = [];
  /** Given back, of each rate of each group. */
  readonly #back: number[][];

  constructor(grant: Grant, plan: Plan) {
    this.grant = grant;
    this.groups = grant.groups;
    this.plan = plan;
    this.lane = grant.groups.at(-1)?.limiter ?? '';
    this.#back = grant.groups.map(({ weights }) => weights.map(() => 0));
  }

  get isLease(): boolean {
    return this.grant.time > 0;
  }

  /** When the store decided, by its clock. */
  get decided(): number {
    return (this.groups[0]?.at ?? 0) - this.grant.delay - this.grant.time;
  }

  /** The total weight of a rate that was not given back. */
  weightOf(g: number, r: number): number {
    const granted = (this.groups[g]?.weights[r] ?? 0) * this.grant.count;
    return granted - (this.#back[g]?.[r] ?? 0);
  }

  /** The weight by which the processes count their starts. */
  get left0(): number {
    return this.weightOf(0, 0);
  }

  /** Gives weight back; whether it has as much. */
  giveBack(groups: readonly Group[]): boolean {
    const fits = groups.every(({ weights }, g) =>
      weights.every((weight, r) => -weight <= this.weightOf(g, r)),
    );
    if (!fits) return false;
    for (const [g, { weights }] of groups.entries()) {
      for (const [r, weight] of weights.entries()) {
        const back = this.#back[g] as number[];
        back[r] = (back[r] ?? 0) - weight;
      }
    }
    return true;
  }
}

const nameOf = (groups: readonly Group[]): string =>
  groups.map(({ limiter, at }) => `${limiter} ${at}`).join();

export function grantsOf(plans: readonly Plan[], lines: readonly Line[]): Supply[] {
  const supplies: Supply[] = [];
  const byName = new Map<string, Supply[]>();
  const planOf = ({ limiter }: Group) =>
    plans.find(({ name }) => limiter === `${name.length}:${name}`);
  for (const line of lines) {
    if (line.kind !== 'grant') continue;
    const plan = planOf(line.groups[0] as Group);
    if (plan === undefined) continue;
    const supply = new Supply(line, plan);
    const name = nameOf(line.groups);
    byName.set(name, [...(byName.get(name) ?? []), supply]);
    supplies.push(supply);
  }
  for (const line of lines) {
    if (line.kind !== 'correction' || line.received !== undefined) continue;
    const isBack = line.groups.some(({ weights }) => weights.some((weight) => weight < 0));
    if (!isBack) continue;
    // Of grants with the same moments any will do.
    const same = byName.get(nameOf(line.groups)) ?? [];
    if (!same.some((supply) => supply.giveBack(line.groups))) {
      throw new Error(`given back without a grant: ${JSON.stringify(line)}`);
    }
  }
  return supplies;
}
