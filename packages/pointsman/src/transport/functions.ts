/**
 * The functions of an API that another thread may call, by name; those of objects in it with dots.
 *
 * Invariant: each object is visited once, under the shortest of its names, so circles end and the time grows with
 * the members and not with the paths to them. No getter runs but those that compilers make of exports.
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
  const open: [prefix: string, object: object, isWhole: boolean][] = [['', api, true]];
  for (const [prefix, object, isWhole] of open) {
    for (const [key, value] of membersOf(object)) {
      const name = `${prefix}${key}`;
      const isFunction = typeof value === 'function';
      if (isFunction && !found.has(name)) found.set(name, value.bind(object));
      // What else an object of a class has, or a function, may be the whole program.
      if (!isWhole || visited.has(value as object)) continue;
      const isPart = isNamespace(value);
      if (!isPart && !isFunction && !isInstance(value)) continue;
      visited.add(value as object);
      open.push([`${name}.`, value as object, isPart]);
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

/** What functions have that is no part of an API. */
const ofFunctions = ['length', 'name', 'prototype', 'arguments', 'caller'];

/** Methods of a class are on its prototype; what is nearer comes first. */
function* membersOf(object: object): Iterable<[key: string, value: unknown]> {
  const isFunction = typeof object === 'function';
  for (
    let place = object;
    place && place !== Object.prototype && place !== Function.prototype;
    place = Object.getPrototypeOf(place)
  ) {
    for (const [key, member] of Object.entries(Object.getOwnPropertyDescriptors(place))) {
      if (key === 'constructor' || (isFunction && ofFunctions.includes(key))) continue;
      yield [key, isExport(member) ? member.get?.call(place) : member.value];
    }
  }
}

/** What compilers and bundlers make of `export`; no getter that somebody has written looks like that. */
function isExport({ get, set, enumerable, configurable }: PropertyDescriptor): boolean {
  return get !== undefined && set === undefined && enumerable === true && configurable === false;
}

/** A plain object, or a module as `export * as name` makes it. */
function isNamespace(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** An object of a class that is none of the platform's. */
function isInstance(value: unknown): boolean {
  return typeof value === 'object' && Object.prototype.toString.call(value) === '[object Object]';
}
