/**
 * The functions of an API that another thread may call, by name; those of objects in it with dots. Such objects are
 * plain ones, modules, and instances of classes with their methods. Of what an instance has in its own fields only
 * plain objects count: the rest is its state.
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
    const isFollowed = isPlain(object) ? isOrdinary : isPlain;
    for (const [key, value] of membersOf(object)) {
      const name = `${prefix}${key}`;
      if (typeof value === 'function') {
        if (!found.has(name)) found.set(name, value.bind(object));
      } else if (isFollowed(value) && !visited.has(value)) {
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

/** An object without a class: one that was written down, or a module. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same, or an instance of a class of the program: none of the language or of the platform. */
function isOrdinary(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (isPlain(value)) return true;
  return (
    !(Symbol.toStringTag in value) && Object.prototype.toString.call(value) === '[object Object]'
  );
}
