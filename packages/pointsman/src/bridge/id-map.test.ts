import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdMap } from './id-map.js';

const step = fc.record({
  id: fc.oneof(fc.nat(40), fc.nat(0x3fffffff)),
  does: fc.constantFrom('set', 'set', 'delete', 'get'),
});

test('does what a Map does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const map = new IdMap<string>();
      const model = new Map<number, string>();
      for (const [index, { id, does }] of steps.entries()) {
        if (does === 'set') {
          map.set(id, `${index}`);
          model.set(id, `${index}`);
        } else if (does === 'delete') {
          expect(map.delete(id)).toBe(model.delete(id));
        }
        expect(map.get(id)).toBe(model.get(id));
        expect(map.has(id)).toBe(model.has(id));
        expect(map.size).toBe(model.size);
      }
      for (const [id, value] of model) expect(map.get(id)).toBe(value);
      expect(new Set(map.ids())).toEqual(new Set(model.keys()));
      map.clear();
      expect([map.size, ...map.ids()]).toEqual([0]);
      for (const id of model.keys()) expect(map.has(id)).toBe(false);
    }),
  );
});

test('one that was large is used again when it has been empty', () => {
  const map = new IdMap<number>();
  for (let round = 0; round < 3; round++) {
    for (let id = 0; id < 10_000; id++) map.set(id, id);
    for (let id = 0; id < 10_000; id++) expect(map.delete(id)).toBe(true);
    expect(map.ids()).toEqual([]);
  }
});

test('numbers one by one, of which some stay', () => {
  const map = new IdMap<number>();
  const stay = new Set<number>();
  for (let id = 0; id < 20_000; id++) {
    map.set(id, id);
    if (id % 977 === 0) stay.add(id);
    const over = id - 100;
    if (over >= 0 && !stay.has(over)) expect(map.delete(over)).toBe(true);
  }
  for (const id of stay) expect(map.get(id)).toBe(id);
  expect(map.size).toBe(stay.size + 100 - [...stay].filter((id) => id > 19_899).length);
});
