/** Checks every answer. Invariant: a wrong answer ends the measurement, so no subject is fast by answering wrongly. */
import {
  bytesOf,
  expectedRect,
  type Parcel,
  parcel,
  type Rect,
  textOf,
} from '../host/functions.js';
import { type Payload, payloads, sourceLength } from '../work.js';

export type Check = (answer: unknown) => void;

export function rectCheck(wholeNumbers: boolean): Check {
  const cut = wholeNumbers ? Math.trunc : (value: number) => value;
  const x = cut(expectedRect.x);
  const y = cut(expectedRect.y);
  const width = cut(expectedRect.width);
  const height = cut(expectedRect.height);
  const left = cut(expectedRect.left);
  const right = cut(expectedRect.right);
  const top = cut(expectedRect.top);
  const bottom = cut(expectedRect.bottom);
  return (answer) => {
    const rect = answer as Rect;
    if (
      rect.x !== x ||
      rect.y !== y ||
      rect.width !== width ||
      rect.height !== height ||
      rect.left !== left ||
      rect.right !== right ||
      rect.top !== top ||
      rect.bottom !== bottom
    ) {
      throw new Error(`answered ${JSON.stringify(rect)}`);
    }
  };
}

/** Compares the first answer as a whole, the others by their size and their end. */
export function payloadCheck(payload: Payload): Check {
  const { kind, length } = payloads[payload];
  let first = true;
  const wholeCheck = wholeChecks[kind];
  const endCheck = endChecks[kind];
  return (answer) => {
    const right = first ? wholeCheck(answer, length) : endCheck(answer, length);
    first = false;
    if (!right) throw new Error(`answered other ${payload} than the host sent`);
  };
}

export const sourceCheck: Check = (answer) => {
  if (answer !== textOf(sourceLength)) throw new Error('answered another source text');
};

type Look = (answer: unknown, length: number) => boolean;

const wholeChecks: Readonly<Record<'bytes' | 'text' | 'record', Look>> = {
  bytes: (answer, length) => {
    const expected = bytesOf(length);
    return (
      answer instanceof Uint8Array &&
      answer.length === length &&
      expected.every((byte, index) => answer[index] === byte)
    );
  },
  text: (answer, length) => answer === textOf(length),
  record: (answer) => JSON.stringify(answer) === JSON.stringify(parcel),
};

const lastItem = parcel.items.length - 1;

const endChecks: typeof wholeChecks = {
  bytes: (answer, length) => {
    const bytes = answer as Uint8Array;
    return bytes.length === length && bytes[length - 1] === bytesOf(length)[length - 1];
  },
  text: (answer, length) => {
    const text = answer as string;
    return (
      text.length === length &&
      text.charCodeAt(length - 1) === textOf(length).charCodeAt(length - 1)
    );
  },
  record: (answer) => {
    const { number, items } = answer as Parcel;
    return number === parcel.number && items[lastItem]?.pieces === parcel.items[lastItem]?.pieces;
  },
};
