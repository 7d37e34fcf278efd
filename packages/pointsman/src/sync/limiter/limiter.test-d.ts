/** The types of the limiter. */
import { expectTypeOf, test } from 'vitest';
import { Limiter, type Permit, type Rate } from '../index.js';

test('results have the type of what the function returns', () => {
  const limiter = new Limiter({ rate: [{ limit: 1, per: 1_000 }], perKey: { concurrency: 1 } });
  expectTypeOf(limiter.run(async () => 1)).toEqualTypeOf<Promise<number>>();
  expectTypeOf(limiter.run((permit) => permit.permits)).toEqualTypeOf<Promise<number>>();
  expectTypeOf(limiter.acquire({ key: {}, weight: { tokens: 5 } })).toEqualTypeOf<
    Promise<Permit>
  >();
  expectTypeOf(limiter.tryAcquire()).toEqualTypeOf<Permit | undefined>();
  expectTypeOf(limiter.rate).toEqualTypeOf<readonly Rate[]>();
  // @ts-expect-error: a limiter without options limits nothing
  new Limiter();
  // @ts-expect-error: a try does not wait
  limiter.tryAcquire({ timeout: 5 });
  // @ts-expect-error: a rate has a time
  limiter.setLimits({ rate: { limit: 5 } });
});

test('the function of a run gets a permit and a signal', () => {
  const limiter = new Limiter({ concurrency: 1 });
  limiter.run(
    (permit, { signal }) => {
      expectTypeOf(permit).toEqualTypeOf<Permit>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    },
    { runTimeout: 5 },
  );
  limiter.map([1], (_, { signal }) => signal, { runTimeout: 5 });
  // @ts-expect-error: `acquire` has no runTimeout
  limiter.acquire({ runTimeout: 5 });
});
