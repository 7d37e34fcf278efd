import { expect, test } from 'vitest';
import { refuseCompany, refuseScripts } from './fresh.js';

test('a package with install scripts is refused', () => {
  refuseScripts('{ "scripts": { "prepack": "x" } }');
  refuseScripts('{}');
  expect(() => refuseScripts('{ "scripts": { "postinstall": "x" } }')).toThrow('postinstall');
});

test('a package with dependencies is refused', () => {
  refuseCompany('{ "packages": { "": {}, "node_modules/pointsman": {} } }');
  const lock = '{ "packages": { "node_modules/pointsman": {}, "node_modules/left-pad": {} } }';
  expect(() => refuseCompany(lock)).toThrow('left-pad');
});
