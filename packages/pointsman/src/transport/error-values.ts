/**
 * Errors as values. Structured clone keeps the name, the message and, in some engines, the stack and the
 * cause. Here whatever is an own property of the error is kept, and enumerable only if it was.
 *
 * Invariant: an error is of the nearest class of the language that it derives from, whatever it is called.
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

/** Properties of an error that no loop over its keys would meet. */
export const hiddenKeys = ['message', 'stack', 'name', 'cause', 'errors'];

/** The number of the nearest class of the language. */
export function errorClassOf(error: Error): number {
  for (let each = error; each !== null; each = Object.getPrototypeOf(each)) {
    const maker: unknown = Object.getOwnPropertyDescriptor(each, 'constructor')?.value;
    if (typeof maker !== 'function') continue;
    const number = classNames.indexOf(maker.name);
    if (number >= 0) return number;
  }
  return 0;
}

/** Which of {@link hiddenKeys} an error has, as bits. */
export function hiddenPartsOf(error: Error, classNumber: number): number {
  let flags = 0;
  for (const [index, key] of hiddenKeys.entries()) {
    // The stack is no own property in every engine, and a derived class may name all of its errors.
    const inherits =
      key === 'stack' ||
      (key === 'name' && classNumber !== exceptionClass && error.name !== classNames[classNumber]);
    const has = Object.hasOwn(error, key) || (inherits && error[key as keyof Error] !== undefined);
    if (has && !Object.prototype.propertyIsEnumerable.call(error, key)) flags |= 1 << index;
  }
  return flags;
}

/** An error without properties; a `DOMException` has its message and its name from the beginning. */
export function makeError(classNumber: number, message?: string, name?: string): Error {
  const Class = classes[classNames[classNumber] as string];
  if (classNumber === exceptionClass) {
    return Class ? new Class(message, name) : Object.assign(new Error(message), { name });
  }
  if (classNumber !== aggregateClass) return new (Class ?? Error)();
  const error = new AggregateError([]);
  // It comes back if it was there.
  delete (error as Partial<AggregateError>).errors;
  return error;
}

/** Unless the error does not allow it, as exceptions of some platforms. */
export function defineHidden(error: Error, key: string, value: unknown): void {
  Reflect.defineProperty(error, key, {
    value,
    configurable: true,
    enumerable: false,
    writable: true,
  });
}

/** Also where a setter, or none, is inherited. */
export function defineOwn(object: object, key: string, value: unknown): void {
  Reflect.defineProperty(object, key, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}

/** An error taken apart, so that structured clone can carry all of it. */
export interface ErrorParts {
  readonly classNumber: number;
  readonly message: string;
  readonly name: string;
  /** Pairs of one of {@link hiddenKeys} and its value. */
  readonly hidden: readonly (readonly [key: string, value: unknown])[];
  readonly own: Readonly<Record<string, unknown>>;
}

/** `isUncloneable`: whether the value of a property cannot be passed on, so that the property is left out. */
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

/** Returns the properties of an error that can be passed on. Reads each once. `flags` come from {@link hiddenPartsOf}. */
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
        // A getter has thrown.
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

/** The error that was taken apart. `error` is one of {@link makeError}, so that it may contain itself. */
export function putTogether(error: Error, { hidden, own }: ErrorParts): Error {
  for (const [key, value] of hidden) defineHidden(error, key, value);
  for (const key of Object.keys(own)) defineOwn(error, key, own[key]);
  return error;
}
