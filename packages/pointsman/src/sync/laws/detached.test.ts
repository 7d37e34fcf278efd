/** A method called without its object reports that: `const { acquire } = new Semaphore(1)`. */
import { describe, expect, test } from 'vitest';
import {
  Barrier,
  Broadcast,
  Channel,
  Condition,
  KeyedMutex,
  KeyedRwLock,
  KeyedSemaphore,
  Latch,
  Mutex,
  Notify,
  RwLock,
  Semaphore,
  Watch,
} from '../index.js';

const objects = {
  Barrier: new Barrier(2),
  Broadcast: new Broadcast(1),
  BroadcastReceiver: new Broadcast(1).subscribe(),
  Channel: new Channel(1),
  Condition: new Condition(new Mutex()),
  KeyedMutex: new KeyedMutex(),
  KeyedRwLock: new KeyedRwLock(),
  KeyedSemaphore: new KeyedSemaphore(1),
  Latch: new Latch(1),
  Mutex: new Mutex(),
  Notify: new Notify(),
  RwLock: new RwLock(),
  Semaphore: new Semaphore(1),
  Watch: new Watch(1),
  WatchReceiver: new Watch(1).subscribe(),
  WritePermit: new RwLock().tryWrite() as object,
};

type Method = (...args: unknown[]) => unknown;

/** Names of the public methods; getters are excluded. */
function methodsOf(object: object): [string, Method][] {
  const methods: [string, Method][] = [];
  let prototype = Object.getPrototypeOf(object);
  for (; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const isPublic = typeof value === 'function' && !/^(_|constructor$)/.test(name);
      if (isPublic && !methods.some(([known]) => known === name)) methods.push([name, value]);
    }
  }
  return methods;
}

describe.each(Object.entries(objects))('%s', (_, object) => {
  test.each(methodsOf(object))('%s', async (name, method) => {
    const expected = new TypeError(`${name} must be called on its object`);
    const key = /All$/.test(name) && !/^(notify|send)/.test(name) ? ['key'] : 'key';
    for (const self of [undefined, null, {}, 1]) {
      // The arguments fit methods that take the function second, and methods that take it first.
      for (const args of [[key, () => 1], [() => 1]]) {
        let outcome: unknown;
        try {
          outcome = method.call(self, ...args);
        } catch (error) {
          expect(error).toEqual(expected);
          continue;
        }
        await expect(outcome).rejects.toEqual(expected);
      }
    }
  });
});

describe('options passed where the first parameter is a number', () => {
  const wrong = (form: unknown, ...args: unknown[]) =>
    new (form as new (...args: unknown[]) => object)(...args);

  test.each<[string, string, unknown]>([
    ['Semaphore', 'limit', Semaphore],
    ['KeyedSemaphore', 'limit', KeyedSemaphore],
    ['Channel', 'capacity', Channel],
    ['Broadcast', 'capacity', Broadcast],
    ['Barrier', 'size', Barrier],
    ['Latch', 'count', Latch],
  ])('%s', (name, number, form) => {
    expect(() => wrong(form, { [number]: 2 })).toThrow(
      new TypeError(`${number} must be a number, got object. Did you mean new ${name}(2)?`),
    );
    for (const value of [{}, null, undefined, { other: 2 }, { [number]: '2' }]) {
      expect(() => wrong(form, value)).toThrow(new RegExp(`^${number} must be an integer >= `));
    }
  });
});
