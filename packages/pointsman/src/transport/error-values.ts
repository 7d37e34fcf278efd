/**
 * Converts errors to plain values and back. Structured clone keeps the name, the message and, in some engines, the
 * stack and the cause. Here every own property is kept, with its enumerability.
 *
 * Invariant: an error arrives as an instance of the nearest built-in class that it derives from, under any name.
 */

type ErrorClass = new (message?: string, name?: string) => Error;

const classNames = [
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  'AggregateError',
  'DOMException',
];

const classes = globalThis as unknown as Record<string, ErrorClass | undefined>;
export const exceptionClass = classNames.indexOf('DOMException');
const aggregateClass = classNames.indexOf('AggregateError');

/** Properties of an error that are usually not enumerable. */
export const hiddenKeys = ['message', 'stack', 'name', 'cause', 'errors'];

/** Returns the number of the nearest built-in class. */
export function errorClassOf(error: Error): number {
  for (let each = error; each !== null; each = Object.getPrototypeOf(each)) {
    const maker: unknown = Object.getOwnPropertyDescriptor(each, 'constructor')?.value;
    if (typeof maker !== 'function') continue;
    const number = classNames.indexOf(maker.name);
    if (number >= 0) return number;
  }
  return 0;
}

/** Returns which of {@link hiddenKeys} an error has, one bit for each. */
export function hiddenPartsOf(error: Error, classNumber: number): number {
  let flags = 0;
  for (const [index, key] of hiddenKeys.entries()) {
    // In some engines `stack` is inherited, and a derived class may define `name` on its prototype.
    const inherits =
      key === 'stack' ||
      (key === 'name' && classNumber !== exceptionClass && error.name !== classNames[classNumber]);
    const has = Object.hasOwn(error, key) || (inherits && error[key as keyof Error] !== undefined);
    if (has && !Object.prototype.propertyIsEnumerable.call(error, key)) flags |= 1 << index;
  }
  return flags;
}

/** Makes an error without properties. Only a `DOMException` gets its message and name here: both are read-only. */
export function makeError(classNumber: number, message?: string, name?: string): Error {
  const Class = classes[classNames[classNumber] as string];
  if (classNumber === exceptionClass) {
    return Class ? new Class(message, name) : Object.assign(new Error(message), { name });
  }
  if (classNumber !== aggregateClass) return new (Class ?? Error)();
  const error = new AggregateError([]);
  // `putTogether` defines it again if the original had it.
  delete (error as Partial<AggregateError>).errors;
  return error;
}

/** Defines a non-enumerable property. Does nothing if the error does not allow it, as some platform exceptions. */
export function defineHidden(error: Error, key: string, value: unknown): void {
  Reflect.defineProperty(error, key, {
    value,
    configurable: true,
    enumerable: false,
    writable: true,
  });
}

/** Defines an own property, also if the prototype has a setter or a read-only property of that name. */
export function defineOwn(object: object, key: string, value: unknown): void {
  Reflect.defineProperty(object, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}

/** The parts of an error, which structured clone can carry. */
export interface ErrorParts {
  readonly classNumber: number;
  readonly message: string;
  readonly name: string;
  /** The properties among {@link hiddenKeys}. */
  readonly hidden: readonly (readonly [key: string, value: unknown])[];
  readonly own: Readonly<Record<string, unknown>>;
}

/** Takes an error apart. Properties whose value is uncloneable are omitted and listed in `droppedProperties`. */
export function takeApart(error: Error, isUncloneable: (value: unknown) => boolean): ErrorParts {
  const classNumber = errorClassOf(error);
  const isException = classNumber === exceptionClass;
  return {
    classNumber,
    message: isException ? error.message : '',
    name: isException ? error.name : '',
    ...partsOf(error, hiddenPartsOf(error, classNumber), isUncloneable),
  };
}

/** The property of an error that lists the names of the omitted properties. */
const DROPPED = 'droppedProperties';

/** Returns the cloneable properties of an error. Reads each property once. `flags` is from {@link hiddenPartsOf}. */
export function partsOf(
  error: Error,
  flags: number,
  isUncloneable: (value: unknown) => boolean,
): Pick<ErrorParts, 'hidden' | 'own'> {
  const dropped: string[] = [];
  const keep = (keys: readonly string[]) => {
    const kept: [key: string, value: unknown][] = [];
    for (const key of keys) {
      try {
        const value = error[key as keyof Error] as unknown;
        if (!isUncloneable(value)) {
          kept.push([key, value]);
          continue;
        }
      } catch {
        // A getter threw.
      }
      dropped.push(key);
    }
    return kept;
  };
  const hidden = keep(hiddenKeys.filter((_, index) => flags & (1 << index)));
  const own = keep(Object.keys(error));
  if (dropped.length > 0) own.push([DROPPED, dropped]);
  return { hidden, own: Object.fromEntries(own) };
}

/** Restores the properties of `error`, which {@link makeError} made. The parts may refer to the error itself. */
export function putTogether(error: Error, { hidden, own }: ErrorParts): Error {
  for (const [key, value] of hidden) defineHidden(error, key, value);
  for (const key of Object.keys(own)) defineOwn(error, key, own[key]);
  return error;
}
