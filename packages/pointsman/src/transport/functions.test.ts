import { expect, test } from 'vitest';
import { functionsOf } from './functions.js';

/** As Bun makes the namespace of a module. */
function namespaceOf(exports: object): object {
  const prototype = Object.create(null, { __esModule: { value: true } });
  const tag = { [Symbol.toStringTag]: 'Module' };
  return Object.preventExtensions(Object.assign(Object.create(prototype), tag, exports));
}

test('a module is found also where its namespace has a prototype', () => {
  const inner = namespaceOf({ deep() {} });
  const found = functionsOf(namespaceOf({ count() {}, inner }), 'module', []);
  expect(found.map(({ name }) => name)).toEqual(['count', 'inner.deep']);
});
