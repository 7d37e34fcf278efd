/** The functions that are called. The host counts its answers, to check the number of calls that a subject reports. */

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Parcel {
  readonly number: number;
  readonly receiver: string;
  readonly express: boolean;
  readonly items: readonly {
    readonly name: string;
    readonly weight: number;
    readonly pieces: number;
  }[];
}

export interface HostFunctions {
  rect(): Rect;
  bytes(length: number): Uint8Array;
  text(length: number): string;
  record(): Parcel;
  format(text: string): string;
}

export interface ServedFunctions extends HostFunctions {
  asyncRect(): Promise<Rect>;
}

/** The position of the page's box: not on whole pixels, like real boxes. */
export const box = { left: 8.5, top: 16.25, width: 320.75, height: 200.5 } as const;

export const expectedRect: Rect = {
  x: box.left,
  y: box.top,
  width: box.width,
  height: box.height,
  left: box.left,
  right: box.left + box.width,
  top: box.top,
  bottom: box.top + box.height,
};

/** About 1 kB as JSON. */
export const parcel: Parcel = {
  number: 20_261_121,
  receiver: 'The pointsman of the junction',
  express: true,
  items: Array.from({ length: 19 }, (_, index) => ({
    name: `switch ${index}`,
    weight: 1.5 + index * 0.25,
    pieces: index + 1,
  })),
};

const made = new Map<string, Uint8Array | string>();

export function bytesOf(length: number): Uint8Array {
  return once(`bytes ${length}`, () => Uint8Array.from({ length }, (_, index) => index * 31 + 7));
}

export function textOf(length: number): string {
  return once(`text ${length}`, () =>
    Array.from({ length }, (_, index) => String.fromCharCode(97 + (index % 26))).join(''),
  );
}

function once<Value extends Uint8Array | string>(name: string, make: () => Value): Value {
  const value = (made.get(name) as Value | undefined) ?? make();
  made.set(name, value);
  return value;
}

export interface CountedFunctions {
  readonly functions: ServedFunctions;
  answered(): number;
}

export function countedFunctions(rect: () => Rect): CountedFunctions {
  let answered = 0;
  const functions: ServedFunctions = {
    rect() {
      answered += 1;
      return rect();
    },
    bytes(length) {
      answered += 1;
      return bytesOf(length);
    },
    text(length) {
      answered += 1;
      return textOf(length);
    },
    record() {
      answered += 1;
      return parcel;
    },
    format(text) {
      answered += 1;
      return text;
    },
    asyncRect: async () => functions.rect(),
  };
  return { functions, answered: () => answered };
}

/** Without a page: the same eight numbers, in a new object for each call. */
export function rectWithoutPage(): Rect {
  const { left, top, width, height } = box;
  return {
    x: left,
    y: top,
    width,
    height,
    left,
    right: left + width,
    top,
    bottom: top + height,
  };
}
