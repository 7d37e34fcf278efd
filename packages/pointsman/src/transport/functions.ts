/**
 * Lists the functions of an API that another thread may call. A function of a nested object has a dotted name.
 *
 * Nested objects are plain objects, modules, and class instances with their methods. Of the own fields of an
 * instance, a function or a class, only functions and plain objects are served; other fields are private state.
 *
 * Invariant: each object is visited once, under its shortest name, so cycles end and the time is linear in the number
 * of members. No getter runs, except those that compilers generate for exports.
 */

import { invalid } from '../sync/errors.js';
import type { AnyFunction } from './types.js';

export interface NamedFunction {
  readonly name: string;
  readonly call: AnyFunction;
}

/** `argument` is the name of the API in errors; `refused` lists reserved names. */
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

const DEFAULT = 'default.';

/** Adds the members of the default export by their own names: of a CommonJS module, not all exports have names. */
export function withDefault(
  functions: readonly NamedFunction[],
  refused: readonly string[],
): readonly NamedFunction[] {
  const names = new Set(functions.map(({ name }) => name));
  const more = functions
    .filter(({ name }) => name.startsWith(DEFAULT))
    .map(({ name, call }) => ({ name: name.slice(DEFAULT.length), call }))
    .filter(({ name }) => !names.has(name) && !refused.includes(name));
  return [...functions, ...more];
}

/** Built-in properties of functions. */
const functionProperties = ['length', 'name', 'prototype', 'arguments', 'caller'];

/** Yields own and inherited members, nearest first. */
function* membersOf(object: object): Iterable<[key: string, value: unknown]> {
  const isFunction = typeof object === 'function';
  for (
    let place = object;
    place === object || (place && !isRootPrototype(place));
    place = Object.getPrototypeOf(place)
  ) {
    for (const key of Object.getOwnPropertyNames(place)) {
      if (key === 'constructor' || (isFunction && functionProperties.includes(key))) continue;
      const member = Object.getOwnPropertyDescriptor(place, key) as PropertyDescriptor;
      yield [key, isExport(member) ? member.get?.call(place) : member.value];
    }
  }
}

/** Returns whether this is `Object.prototype` or `Function.prototype` of any realm. */
function isRootPrototype(prototype: object): boolean {
  const next = Object.getPrototypeOf(prototype);
  if (next === null) return true;
  return typeof prototype === 'function' && Object.getPrototypeOf(next) === null;
}

/** Returns whether a compiler generated this property for an `export`. No getter in a class or an object literal matches. */
function isExport({ get, set, enumerable, configurable }: PropertyDescriptor): boolean {
  return get !== undefined && set === undefined && enumerable === true && configurable === false;
}

/** Returns whether the functions of a member are served too. */
function isPart(value: unknown, of: object): value is object {
  if (isPlain(value)) return true;
  return isPlain(of) && (typeof value === 'function' || isInstance(value));
}

/** Returns whether this is an object without a class, or a module; in Bun a module has a prototype. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  // In every realm, `Object.prototype` is the only prototype without a prototype.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return true;
  return Object.prototype.toString.call(value) === '[object Module]';
}

/** Returns whether this is an instance of a class of the program, not of a built-in class. */
function isInstance(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Symbol.toStringTag in value) return false;
  return Object.prototype.toString.call(value) === '[object Object]';
}
