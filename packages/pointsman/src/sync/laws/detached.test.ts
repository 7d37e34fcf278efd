/** A method called without its object reports that: `const { acquire } = new Semaphore(1)`. */
import { describe, expect, test } from 'vitest';
import * as sync from '../index.js';
import { RwLock } from '../index.js';
import { primitives } from './primitives.js';
import { waits } from './waits.js';

/** An object of each class with methods: the primitives, the receivers, and the permit with a method of its own. */
const objects = [
  ...Object.values(primitives).map(({ create }) => create()),
  ...Object.values(waits).map((create) => create(1).object),
  new RwLock().tryWrite() as object,
];
const classes = new Map(objects.map((object) => [object.constructor.name, object]));

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

test('each class of the entry is a row of `primitives`', () => {
  // A function that is no class has only `constructor` in its prototype. A bundler may rename classes, but not exports.
  const exported = Object.entries(sync)
    .filter(([, { prototype }]) => prototype && Object.getOwnPropertyNames(prototype).length > 1)
    .filter(([, { prototype }]) => !(prototype instanceof Error))
    .map(([name]) => name);
  expect(Object.keys(primitives).sort()).toEqual(exported.sort());
});

describe.each([...classes])('%s', (_, object) => {
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
