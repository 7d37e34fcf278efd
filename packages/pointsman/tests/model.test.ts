/**
 * `pointsman` against the reference model: made-up steps are played on the model, and what
 * happens there is the scenario that `pointsman` has to pass.
 */
import {
  createModel,
  type Operation,
  type Primitive,
  recordScenario,
  runScenario,
  type Step,
} from '@pointsman/spec';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, test, vi } from 'vitest';
import { inOneLoop } from './implementation.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const actor = fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F');
const key = fc.constantFrom('x', 'y');
const limit = fc.integer({ min: 1, max: 4 });
const permits = fc.constantFrom(1, 1, 2, 3, 4);
const timeout = fc.constantFrom(0, 100, 200);
const aborted = fc.constant(true as const);

function operation<Name extends Operation['operation'], Options>(name: Name, options: Options) {
  const parts = { actor, operation: fc.constant(name), ...options };
  return fc.record(parts as never, { requiredKeys: ['actor', 'operation'] as never });
}

/** Often enough that queues form, seldom enough that they are not always closed. */
const anyOperation = fc.oneof(
  {
    weight: 40,
    arbitrary: operation('acquire', {
      key,
      permits,
      priority: fc.constantFrom(-1, 0, 1),
      timeout,
      owner: fc.constantFrom('alice', 'bob', 'carol'),
    }),
  },
  { weight: 2, arbitrary: operation('acquire', { key, permits, aborted }) },
  { weight: 8, arbitrary: operation('try-acquire', { key, permits }) },
  { weight: 30, arbitrary: operation('release', {}) },
  { weight: 3, arbitrary: operation('release-again', {}) },
  { weight: 12, arbitrary: operation('abort', {}) },
  { weight: 4, arbitrary: operation('drain', { timeout }) },
  { weight: 6, arbitrary: operation('set-limit', { limit: fc.integer({ min: 0, max: 5 }) }) },
  { weight: 1, arbitrary: operation('close', {}) },
) as fc.Arbitrary<Operation>;

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: anyOperation }) },
  {
    weight: 3,
    arbitrary: fc.record({ together: fc.array(anyOperation, { minLength: 2, maxLength: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ advance: fc.constantFrom(50, 100, 150) }) },
);

/** Leaves out what the primitive does not have. */
function fit(primitive: Primitive, operations: Operation[]): Operation[] {
  return operations
    .filter(({ operation }) => operation !== 'set-limit' || primitive === 'semaphore')
    .map((operation) => {
      const fitting: Record<string, unknown> = { ...operation };
      const takes = operation.operation === 'acquire' || operation.operation === 'try-acquire';
      if (takes && primitive.startsWith('keyed-')) fitting.key ??= 'x';
      else delete fitting.key;
      delete fitting[primitive.endsWith('mutex') ? 'permits' : 'owner'];
      return fitting as unknown as Operation;
    });
}

function fitStep(primitive: Primitive, step: Step): Step {
  if ('advance' in step) return step;
  if ('do' in step) return { together: fit(primitive, [step.do]) };
  // A try answers at once and a grant by a promise, so their order within a turn means nothing.
  const together = step.together.filter(({ operation }) => operation !== 'try-acquire');
  return { together: fit(primitive, together) };
}

describe.each(['semaphore', 'mutex', 'keyed-semaphore', 'keyed-mutex'] as const)(
  '%s does what the model does',
  (primitive) => {
    test.each([
      ['with a signal for every operation', false],
      ['with options only where they are needed', true],
    ])('%s', { timeout: 60_000 }, async (_, sparing) => {
      const steps = fc.array(anyStep, { minLength: 1, maxLength: 30, size: 'max' });
      await fc.assert(
        fc.asyncProperty(limit, steps, async (limit, steps) => {
          const scenario = {
            name: 'made up',
            setup: primitive.endsWith('mutex') ? {} : { limit },
            steps: steps.map((step) => fitStep(primitive, step)),
          };
          const recorded = await recordScenario(primitive, scenario, createModel());
          await runScenario(primitive, recorded, { ...inOneLoop, sparing });
        }),
        { numRuns: 500 },
      );
    });
  },
);
