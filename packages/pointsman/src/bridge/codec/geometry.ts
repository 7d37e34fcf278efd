/**
 * Encodes rectangles, points and matrices of the DOM as their numbers.
 *
 * Invariant: if the reading runtime lacks the class, the value is a plain object with the same numbers.
 */

import { Refused } from '../../transport/clone-errors.js';
import { CorruptMessageError, type Reader } from '../ring/reader.js';
import type { Writer } from '../ring/writer.js';

type GeometryClass = new (...values: unknown[]) => object;

interface Geometry {
  readonly name: string;
  readonly keys: readonly string[];
  make(Class: GeometryClass, numbers: readonly number[]): object;
}

const fromNumbers = (Class: GeometryClass, numbers: readonly number[]) => new Class(...numbers);
const fromList = (Class: GeometryClass, numbers: readonly number[]) => new Class(numbers);

const rectangle = { keys: ['x', 'y', 'width', 'height'], make: fromNumbers };
const point = { keys: ['x', 'y', 'z', 'w'], make: fromNumbers };
/** In the order of the constructor's parameters. */
const matrix = {
  keys: [1, 2, 3, 4].flatMap((column) => [1, 2, 3, 4].map((row) => `m${column}${row}`)),
  make: fromList,
};
const flatMatrix = { keys: ['a', 'b', 'c', 'd', 'e', 'f'], make: fromList };

const geometries: readonly Geometry[] = [
  { name: 'DOMRect', ...rectangle },
  { name: 'DOMRectReadOnly', ...rectangle },
  { name: 'DOMPoint', ...point },
  { name: 'DOMPointReadOnly', ...point },
  { name: 'DOMMatrix', ...matrix },
  { name: 'DOMMatrixReadOnly', ...matrix },
  { name: 'DOMMatrix', ...flatMatrix },
  { name: 'DOMMatrixReadOnly', ...flatMatrix },
];

export function writeGeometry(writer: Writer, value: object): void {
  const fields = value as Record<string, number | boolean>;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  const flat = fields.is2D === true;
  const number = geometries.findIndex(
    (each) =>
      each.name === name && (each.make === fromNumbers || (each.keys === flatMatrix.keys) === flat),
  );
  const found = geometries[number];
  if (found === undefined) throw new Refused(value, `a ${name}`);
  writer.byte(number);
  for (const key of found.keys) writer.double(fields[key] as number);
}

export function readGeometry(reader: Reader): object {
  const found = geometries[reader.byte()];
  if (found === undefined) throw new CorruptMessageError('unknown geometry');
  const numbers = found.keys.map(() => reader.double());
  const Class = (globalThis as unknown as Record<string, GeometryClass | undefined>)[found.name];
  if (Class !== undefined) return found.make(Class, numbers);
  return Object.fromEntries(found.keys.map((key, index) => [key, numbers[index]]));
}
