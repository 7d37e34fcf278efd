/**
 * `pointsman` against the reference model: random steps run on the model, and its outcome becomes the scenario that
 * `pointsman` has to pass.
 */
import {
  createModel,
  type Operation,
  type OperationName,
  type OperationOptions,
  type Primitive,
  primitives,
  recordScenario,
  rules,
  runScenario,
  type Setup,
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

const anyActor = fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F');
const small = fc.integer({ min: 1, max: 4 });

/** The values of each option. */
const options: { [Name in keyof OperationOptions]-?: fc.Arbitrary<unknown> } = {
  key: fc.constantFrom('x', 'y'),
  keys: fc.uniqueArray(fc.constantFrom('x', 'y', 'z'), { minLength: 1 }),
  permits: fc.constantFrom(1, 1, 2, 3, 4),
  priority: fc.constantFrom(-1, 0, 1),
  timeout: fc.constantFrom(0, 100, 200),
  aborted: fc.constant(true),
  owner: fc.constantFrom('alice', 'bob', 'carol'),
  reason: fc.constantFrom('going down', 'no more'),
  limit: fc.integer({ min: 0, max: 5 }),
  count: fc.integer({ min: 0, max: 2 }),
  value: fc.integer({ min: 1, max: 99 }),
  max: small,
};

interface Shape {
  /** Its relative frequency. */
  readonly weight: number;
  /** Options that it always has, and those that it sometimes has. */
  readonly always?: readonly (keyof OperationOptions)[];
  readonly sometimes?: readonly (keyof OperationOptions)[];
}

const waits: Shape = { weight: 30, sometimes: ['timeout'] };
const rare: Shape = { weight: 1 };

/** Frequent enough that queues form, rare enough that they are not always closed. */
const shapes: Record<OperationName, Shape> = {
  acquire: { weight: 40, sometimes: ['permits', 'priority', 'timeout', 'owner'] },
  'try-acquire': { weight: 8, sometimes: ['permits'] },
  read: waits,
  write: { weight: 20, sometimes: ['timeout', 'priority'] },
  'try-read': { weight: 5 },
  'try-write': { weight: 5 },
  downgrade: { weight: 10 },
  release: { weight: 30 },
  'release-again': { weight: 3 },
  abort: { weight: 12, sometimes: ['reason'] },
  drain: { weight: 4, sometimes: ['timeout'] },
  close: { weight: 1, sometimes: ['reason'] },
  discard: { ...rare, always: ['reason'] },
  'set-limit': { weight: 6, always: ['limit'] },
  notified: waits,
  'notify-one': { weight: 15 },
  'notify-waiters': { weight: 5 },
  wait: waits,
  'count-down': { weight: 8, sometimes: ['count'] },
  send: { weight: 30, always: ['value'], sometimes: ['timeout'] },
  'try-send': { weight: 8, always: ['value'] },
  receive: waits,
  'receive-many': { weight: 8, always: ['max'], sometimes: ['timeout'] },
  'try-receive': { weight: 8 },
  changed: waits,
  subscribe: { weight: 20 },
};

/** Options that only some primitives have. */
function fits(primitive: Primitive, option: keyof OperationOptions): boolean {
  if (option === 'priority') return primitive !== 'lock-all';
  if (option === 'permits') return primitive.endsWith('semaphore');
  if (option === 'owner') return primitive.endsWith('mutex');
  return true;
}

function anyOperation(primitive: Primitive): fc.Arbitrary<Operation> {
  const names = Object.keys(rules[primitive]) as OperationName[];
  const each = names.flatMap((name) => {
    const { begins, gives } = rules[primitive][name] ?? {};
    const { weight, always = [], sometimes = [] } = shapes[name];
    const keyed = primitive.startsWith('keyed-') && begins === 'free' && gives;
    const several = primitive === 'lock-all' && begins === 'free';
    const key = several ? ['keys' as const] : keyed ? ['key' as const] : [];
    const required = [...key, ...always];
    const given = [...required, ...sometimes.filter((option) => fits(primitive, option))];
    const parts = Object.fromEntries(given.map((option) => [option, options[option]]));
    const operation = (more: object) =>
      fc.record({ actor: anyActor, operation: fc.constant(name), ...parts, ...more } as never, {
        requiredKeys: ['actor', 'operation', ...required, ...Object.keys(more)] as never,
      });
    const shape = { weight, arbitrary: operation({}) };
    const abortable = sometimes.includes('timeout');
    return abortable
      ? [shape, { ...rare, arbitrary: operation({ aborted: options.aborted }) }]
      : [shape];
  });
  return fc.oneof(...each) as fc.Arbitrary<Operation>;
}

function anyStep(primitive: Primitive): fc.Arbitrary<Step> {
  const operation = anyOperation(primitive);
  // A try answers at once and a grant through a promise, so their order within a turn is undefined.
  const untried = operation.filter((each) => !isTry(primitive, each));
  const together = fc.array(untried, { minLength: 2, maxLength: 4 });
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ together: fc.tuple(operation) }) },
    { weight: 3, arbitrary: fc.record({ together }) },
    { weight: 1, arbitrary: fc.record({ advance: fc.constantFrom(50, 100, 150) }) },
  );
}

const isTry = (primitive: Primitive, { operation }: Operation) =>
  rules[primitive][operation]?.while === 'trying' && operation.startsWith('try-');

function anySetup(primitive: Primitive): fc.Arbitrary<Setup> {
  switch (primitive) {
    case 'semaphore':
    case 'keyed-semaphore':
      return fc.record({ limit: small });
    case 'barrier':
      return fc.record({ size: small });
    case 'latch':
      return fc.record({ count: small });
    case 'channel':
      return fc.oneof(
        fc.record({ capacity: fc.constantFrom(0, 1, 2, 'unbounded' as const) }),
        fc.record({
          capacity: small,
          'when-full': fc.constantFrom('drop-oldest' as const, 'reject' as const),
        }),
      );
    case 'broadcast':
      return fc.record({ capacity: small });
    case 'watch':
      return fc.record({ value: fc.constant(0) });
    default:
      return fc.constant({});
  }
}

describe.each(primitives)('%s behaves like the model', (primitive) => {
  test.each([
    ['with a signal for every operation', false],
    ['with options only where they are needed', true],
  ])('%s', { timeout: 60_000 }, async (_, sparing) => {
    const steps = fc.array(anyStep(primitive), { minLength: 1, maxLength: 30, size: 'max' });
    await fc.assert(
      fc.asyncProperty(anySetup(primitive), steps, async (setup, steps) => {
        const scenario = { name: 'made up', setup, steps };
        const recorded = await recordScenario(primitive, scenario, createModel());
        await runScenario(primitive, recorded, { ...inOneLoop, sparing });
      }),
      { numRuns: 500 },
    );
  });
});
