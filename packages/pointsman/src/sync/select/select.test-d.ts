/** The types of select: a union that the key tells apart. */
import { expectTypeOf, test } from 'vitest';
import { type Permit, type SelectOptions, Semaphore, select, type WaitOptions } from '../index.js';

const semaphore = new Semaphore(1);

test('the value is that of the case with the key', async () => {
  const open = Math.random() > 0.5;
  const first = await select({
    permit: (only) => semaphore.acquire({ permits: 2, ...only }),
    number: Promise.resolve(1),
    text: async () => 'text',
    now: () => 1n,
    late: 1_000,
    maybe: open && ((only) => semaphore.acquire(only)),
    off: null,
  });
  expectTypeOf(first.key).toEqualTypeOf<'permit' | 'number' | 'text' | 'now' | 'late' | 'maybe'>();
  switch (first.key) {
    case 'permit':
      expectTypeOf(first.value).toEqualTypeOf<Permit>();
      break;
    case 'maybe':
      expectTypeOf(first.value).toEqualTypeOf<Permit>();
      break;
    case 'number':
      expectTypeOf(first.value).toEqualTypeOf<number>();
      break;
    case 'text':
      expectTypeOf(first.value).toEqualTypeOf<string>();
      break;
    case 'now':
      expectTypeOf(first.value).toEqualTypeOf<bigint>();
      break;
    default:
      expectTypeOf(first.value).toEqualTypeOf<undefined>();
      expectTypeOf(first.key).toEqualTypeOf<'late'>();
  }
});

test('a case gets its signal, which can be passed on as options', () => {
  void select({
    one: (only) => {
      expectTypeOf(only).toEqualTypeOf<{ readonly signal: AbortSignal }>();
      expectTypeOf(only).toExtend<WaitOptions>();
      return select({ inner: () => 1 }, only);
    },
  });
});

test('options', () => {
  expectTypeOf<SelectOptions>().toExtend<WaitOptions>();
  expectTypeOf<keyof SelectOptions>().toEqualTypeOf<'biased' | 'signal' | 'timeout'>();
  void select({ late: 1 }, { biased: undefined, signal: undefined, timeout: undefined });
});

test('what cannot be used', () => {
  // @ts-expect-error: a text is nothing to wait for
  void select({ text: 'text' });
  // @ts-expect-error: true neither switches on nor off
  void select({ flag: true });
  // @ts-expect-error: cases have names
  void select([1, 2]);
  // @ts-expect-error: a select has no priority, its cases may
  void select({ late: 1 }, { priority: 1 });
});
