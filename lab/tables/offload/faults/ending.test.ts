import { describe, expect, it } from 'vitest';
import { describeRejection, endingOf, wordsOf } from './ending.js';

const never = new Promise<never>(() => {});

async function words(start: () => PromiseLike<unknown>): Promise<string> {
  return wordsOf(await endingOf(start, 1));
}

describe('how a task ended', () => {
  it('is described in words', async () => {
    expect(await words(async () => 1)).toBe('resolves');
    expect(await words(() => never)).toBe('hangs');
    expect(await words(() => Promise.reject(new RangeError('no')))).toBe('rejects with RangeError');
    expect(await words(() => Promise.reject({ message: 'no' }))).toBe(
      'rejects with no Error but an object',
    );
    expect(
      await words(() => {
        throw new Error('full');
      }),
    ).toBe('throws an Error, no promise');
  });

  it('is sound if the promise was rejected with an error that has a message', async () => {
    const isSound = async (start: () => PromiseLike<unknown>) =>
      describeRejection(await endingOf(start, 1)).sound;
    expect(await isSound(() => Promise.reject(new Error('no')))).toBe(true);
    expect(await isSound(() => Promise.reject(new Error()))).toBe(false);
    expect(await isSound(() => Promise.reject('no'))).toBe(false);
    expect(await isSound(async () => 1)).toBe(false);
    expect(await isSound(() => never)).toBe(false);
  });
});
