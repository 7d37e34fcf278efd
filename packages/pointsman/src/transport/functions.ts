/**
 * The functions of an API that another thread may call, by name; those of objects in it with dots. Such objects are
 * plain ones, modules, and instances of classes with their methods. Of what an instance has in its own fields only
 * functions and plain objects count: the rest is its state. So it is with what functions and classes have themselves.
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
  if (typeof api !== 'function' && !isPlain(api) && !isInstance(api)) {
    throw invalid(argument, api, 'an object of functions');
  }
  const found = new Map<string, AnyFunction>();
  const visited = new Set<object>([api]);
  // Breadth first, for the shortest name.
  const open: [prefix: string, object: object][] = [['', api]];
  for (const [prefix, object] of open) {
    for (const [key, value] of membersOf(object)) {
      const name = `${prefix}${key}`;
      if (typeof value === 'function' && !found.has(name)) found.set(name, value.bind(object));
      if (isPart(value, object) && !visited.has(value)) {
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

/** What functions have that is no part of an API. */
const ofFunctions = ['length', 'name', 'prototype', 'arguments', 'caller'];

/** Methods of a class are on its prototype; what is nearer comes first. */
function* membersOf(object: object): Iterable<[key: string, value: unknown]> {
  const isFunction = typeof object === 'function';
  for (
    let place = object;
    place === object || (place && !isOfLanguage(place));
    place = Object.getPrototypeOf(place)
  ) {
    for (const key of Object.getOwnPropertyNames(place)) {
      if (key === 'constructor' || (isFunction && ofFunctions.includes(key))) continue;
      const member = Object.getOwnPropertyDescriptor(place, key) as PropertyDescriptor;
      yield [key, isExport(member) ? member.get?.call(place) : member.value];
    }
  }
}

/** Whether it is the prototype of all objects or of all functions, of this realm or of another. */
function isOfLanguage(prototype: object): boolean {
  const next = Object.getPrototypeOf(prototype);
  if (next === null) return true;
  return typeof prototype === 'function' && Object.getPrototypeOf(next) === null;
}

/** What compilers and bundlers make of `export`; no getter that somebody has written looks like that. */
function isExport({ get, set, enumerable, configurable }: PropertyDescriptor): boolean {
  return get !== undefined && set === undefined && enumerable === true && configurable === false;
}

/** Whether functions are looked for in a member of an object: of an instance or a function, if it is a plain object. */
function isPart(value: unknown, of: object): value is object {
  if (isPlain(value)) return true;
  return isPlain(of) && (typeof value === 'function' || isInstance(value));
}

/** An object without a class: one that was written down, or a module, which in Bun has a prototype of its own. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // Also in another realm, only the prototype of all objects has no prototype itself.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true;
  return Object.prototype.toString.call(value) === '[object Module]';
}

/** An object of a class of the program: none of the language or of the platform. */
function isInstance(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Symbol.toStringTag in value) return false;
  return Object.prototype.toString.call(value) === '[object Object]';
}
