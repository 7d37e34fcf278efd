/**
 * The functions of an API that another thread may call, by name; those of objects in it with dots.
 *
 * Invariant: each object is visited once, under the shortest of its names, so circles end and the time grows with
 * the members and not with the paths to them. No getter runs.
 */

import { invalid } from '../sync/errors.js';
import type { AnyFunction } from './types.js';

export interface NamedFunction {
  readonly name: string;
  readonly call: AnyFunction;
}

/** `argument` is what the API is called in errors; `refused` are names that it cannot have. */
export function functionsOf(
  api: object,
  argument: string,
  refused: readonly string[],
): NamedFunction[] {
  if (Object(api) !== api) throw invalid(argument, api, 'an object of functions');
  const found = new Map<string, AnyFunction>();
  const visited = new Set<object>([api]);
  // Breadth first, for the shortest name.
  const open: [prefix: string, object: object][] = [['', api]];
  for (const [prefix, object] of open) {
    for (const [key, value] of membersOf(object)) {
      const name = `${prefix}${key}`;
      if (typeof value === 'function') {
        if (!found.has(name)) found.set(name, value.bind(object));
      } else if (isPlain(value) && !visited.has(value)) {
        visited.add(value);
        open.push([`${name}.`, value]);
      }
    }
  }
  for (const name of found.keys()) {
    const [first] = name.split('.') as [string];
    if (refused.includes(first)) {
      throw new TypeError(`${argument}.${first}: the name is taken; choose another`);
    }
  }
  return [...found].map(([name, call]) => ({ name, call }));
}

/** Methods of a class are on its prototype; what is nearer comes first. */
function* membersOf(object: object): Iterable<[key: string, value: unknown]> {
  for (
    let place = object;
    place && place !== Object.prototype;
    place = Object.getPrototypeOf(place)
  ) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(place))) {
      if (key !== 'constructor') yield [key, value];
    }
  }
}

function isPlain(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}
