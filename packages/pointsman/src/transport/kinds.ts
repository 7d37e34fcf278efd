/**
 * What sort of object a value is, as structured clone sees it.
 *
 * Invariant: what is sent as a plain object is one: an object of the language, of a class of the user, or
 * without a prototype. Objects that only the platform can make (a promise, a node, a port) are opaque:
 * nobody else could make one again.
 */

import { Refused } from './clone-errors.js';

export type Kind =
  | 'plain'
  | 'array'
  | 'view'
  | 'date'
  | 'regexp'
  | 'map'
  | 'set'
  | 'buffer'
  | 'message'
  | 'error'
  | 'boxed'
  | 'geometry'
  | 'opaque';

type Names = Readonly<Record<string, Kind>>;

const language: Names = {
  Object: 'plain',
  Array: 'array',
  Date: 'date',
  RegExp: 'regexp',
  Map: 'map',
  Set: 'set',
  ArrayBuffer: 'buffer',
  SharedArrayBuffer: 'message',
  Error: 'error',
  EvalError: 'error',
  RangeError: 'error',
  ReferenceError: 'error',
  SyntaxError: 'error',
  TypeError: 'error',
  URIError: 'error',
  AggregateError: 'error',
  Boolean: 'boxed',
  Number: 'boxed',
  String: 'boxed',
  BigInt: 'boxed',
};

const platform: Names = {
  Blob: 'message',
  File: 'message',
  CryptoKey: 'message',
  ImageBitmap: 'message',
  ImageData: 'message',
  DOMException: 'error',
  DOMRect: 'geometry',
  DOMRectReadOnly: 'geometry',
  DOMPoint: 'geometry',
  DOMPointReadOnly: 'geometry',
  DOMMatrix: 'geometry',
  DOMMatrixReadOnly: 'geometry',
};

const names: Names = { ...language, ...platform };

const globals = globalThis as unknown as Record<string, { prototype: object } | undefined>;

const known = new Map<object, Kind>();
learn(language);

/** Objects that some runtimes write in JavaScript, and those without a constructor of their own. */
const opaque = new Set<object>([
  ancestor([][Symbol.iterator](), 2),
  ancestor((async function* () {})(), 3),
]);

function learn(classes: Names): void {
  for (const [name, kind] of Object.entries(classes)) {
    const prototype = globals[name]?.prototype;
    if (prototype !== undefined) known.set(prototype, kind);
  }
}

let knowsPlatform = false;

/** Not before an object is met that is not of the language: in Node, who names these classes loads them. */
function ofPlatform(prototype: object): Kind | undefined {
  if (!knowsPlatform) {
    knowsPlatform = true;
    learn(platform);
    const { WebAssembly } = globalThis as { WebAssembly?: { Module: { prototype: object } } };
    if (WebAssembly !== undefined) known.set(WebAssembly.Module.prototype, 'message');
    for (const name of ['EventTarget', 'ReadableStream', 'WritableStream', 'TransformStream']) {
      const prototype = globals[name]?.prototype;
      if (prototype !== undefined) opaque.add(prototype);
    }
  }
  return known.get(prototype);
}

function ancestor(value: object, generation: number): object {
  return generation === 0 ? value : ancestor(Object.getPrototypeOf(value), generation - 1);
}

/** The kind of an object that is directly of a built-in class, else undefined. */
export function builtIn(value: object): Kind | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return 'plain';
  return known.get(prototype) ?? (ArrayBuffer.isView(value) ? 'view' : ofPlatform(prototype));
}

/**
 * Whether bytes cannot tell what it is, but a message of the platform can carry it: shared memory, and
 * views of it, stay shared.
 */
export function goesByMessage(value: object): boolean {
  const kind = builtIn(value);
  return kind === 'view' ? isShared((value as ArrayBufferView).buffer) : kind === 'message';
}

function isShared(buffer: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer === 'function' && buffer instanceof SharedArrayBuffer;
}

/** Throws if nobody else could make such an object again. */
export function refuseOpaque(value: object): void {
  const kind = kindOf(value);
  if (kind === 'opaque') throw new Refused(value, 'an object of the platform');
  if (kind === 'message') throw new Refused(value, 'an object that only a message can carry');
}

/** By the prototype of those that are not of a built-in class, so that each class is examined once. */
const classes = new WeakMap<object, Kind>();

/** The kind of any object, also of one of a derived class or from another realm. */
export function kindOf(value: object): Kind {
  if (Array.isArray(value)) return 'array';
  const kind = builtIn(value);
  if (kind !== undefined) return kind;
  const prototype = Object.getPrototypeOf(value);
  const before = classes.get(prototype);
  if (before !== undefined) return before;
  const found = inherited(prototype);
  classes.set(prototype, found);
  return found;
}

function inherited(first: object): Kind {
  for (let each: object | null = first; each !== null; each = Object.getPrototypeOf(each)) {
    if (opaque.has(each)) return 'opaque';
    const kind = known.get(each);
    if (kind !== undefined) return kind;
    const maker: unknown = Object.getOwnPropertyDescriptor(each, 'constructor')?.value;
    // From another realm, or of the platform.
    if (typeof maker === 'function' && isNative(maker)) {
      return Object.hasOwn(names, maker.name) ? (names[maker.name] as Kind) : 'opaque';
    }
  }
  return 'plain';
}

function isNative(maker: object): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(maker));
}
