/**
 * Classifies objects as structured clone does.
 *
 * Invariant: `plain` is an object literal, an instance of a class of the program, or an object without a prototype.
 * An object that only the platform can create (a promise, a DOM node, a port) is `opaque`: the other thread could not
 * create it again.
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

/** Prototypes that the check for native constructors does not find: some runtimes implement them in JavaScript. */
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

/** Learns the platform's classes on first use: in Node, a reference to such a class loads it. */
function platformKind(prototype: object): Kind | undefined {
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

/** Returns the kind of a direct instance of a built-in class, else undefined. */
export function builtIn(value: object): Kind | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return 'plain';
  return known.get(prototype) ?? (ArrayBuffer.isView(value) ? 'view' : platformKind(prototype));
}

/** Returns whether only a platform message can carry the object: shared memory, for example, which stays shared. */
export function goesByMessage(value: object): boolean {
  const kind = builtIn(value);
  return kind === 'view' ? isShared((value as ArrayBufferView).buffer) : kind === 'message';
}

function isShared(buffer: ArrayBufferLike): boolean {
  return typeof SharedArrayBuffer === 'function' && buffer instanceof SharedArrayBuffer;
}

/** Throws for an object that the codec cannot represent. */
export function refuseOpaque(value: object): void {
  const kind = kindOf(value);
  if (kind === 'opaque') throw new Refused(value, 'an object of the platform');
  if (kind === 'message') throw new Refused(value, 'an object that only a message can carry');
}

/** The kinds of other classes, by prototype, so that each class is examined once. */
const classes = new WeakMap<object, Kind>();

/** Returns the kind of any object, also of a derived class or from another realm. */
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
    // A native class of another realm, or of the platform.
    if (typeof maker === 'function' && isNative(maker)) {
      return Object.hasOwn(names, maker.name) ? (names[maker.name] as Kind) : 'opaque';
    }
  }
  return 'plain';
}

function isNative(maker: object): boolean {
  return /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(maker));
}
