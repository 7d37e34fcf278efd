/** A mutant: the reference model with one mistake. */
import type { AcquireRequest, Implementation, Subject } from '../implementation.js';
import { createModel, type ModelOptions, type Models } from '../model.js';
import type { Primitive, Setup } from '../scenario.js';

/** A mistake in waiting, for any operation of any primitive: it wraps the correct operation. */
export type Around = (
  request: AcquireRequest,
  proceed: (request: AcquireRequest) => PromiseLike<unknown>,
) => unknown;

export interface Mutant extends Partial<Models> {
  /** The files in which it must fail. */
  readonly fails: readonly string[];
  readonly around?: Around;
}

export type Mutants = Record<string, Mutant>;

const waiting = [
  ...(['acquire', 'read', 'write', 'drain', 'notified', 'wait'] as const),
  ...(['send', 'receive', 'receiveMany', 'changed'] as const),
];

export function createMutant(
  name: string,
  { fails, around, ...models }: Mutant,
  options: ModelOptions = {},
): Implementation {
  const model = createModel({ ...options, name, models });
  if (!around) return model;
  return {
    ...model,
    create(primitive: Primitive, setup: Setup) {
      const subject = model.create(primitive, setup) as Subject;
      for (const method of waiting) {
        const right = subject[method] as
          | ((...given: unknown[]) => PromiseLike<unknown>)
          | undefined;
        if (!right) continue;
        const wrong = (request: AcquireRequest, ...held: unknown[]) =>
          around(request, (changed) => right.call(subject, changed, ...held));
        Object.assign(subject, { [method]: wrong });
      }
      return subject;
    },
  };
}
