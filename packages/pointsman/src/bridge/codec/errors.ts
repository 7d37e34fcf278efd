/** The error of a value that cannot be sent. It names the place: `value.items[3].run`. */

export class DataCloneError extends Error {
  override readonly name = 'DataCloneError';
}

/** Thrown from the depth of a value, where the place is not known: {@link refusal} finds it. */
export class Refused {
  constructor(
    readonly value: unknown,
    readonly reason: string,
  ) {}
}

/** What the caller gets to see of something that was refused. */
export function refusal(root: unknown, { value, reason }: Refused): DataCloneError {
  return new DataCloneError(`${pathTo(root, value)} cannot be cloned: it is ${reason}`);
}

/** The first place at which the value stands. Looks only after something has failed. */
function pathTo(root: unknown, wanted: unknown): string {
  const visited = new Set<unknown>();
  // A list instead of recursion: what is looked through may be deep.
  const places: [path: string, value: unknown][] = [['value', root]];
  for (const [path, value] of places) {
    if (value === wanted) return path;
    if (typeof value !== 'object' || value === null || visited.has(value)) continue;
    visited.add(value);
    if (value instanceof Map) {
      let index = 0;
      for (const [key, item] of value) {
        places.push([`${path}.keys()[${index}]`, key], [`${path}.get(${show(key)})`, item]);
        index += 1;
      }
    } else if (value instanceof Set) {
      for (const item of value) places.push([`${path}.values()[${places.length}]`, item]);
    } else if (!ArrayBuffer.isView(value)) {
      for (const key of Object.getOwnPropertyNames(value)) {
        const item = Object.getOwnPropertyDescriptor(value, key)?.value;
        places.push([path + member(key, Array.isArray(value)), item]);
      }
    }
  }
  return 'value';
}

/** A key as it stands behind an object. */
export function member(key: string, inList: boolean): string {
  if (inList && /^\d+$/.test(key)) return `[${key}]`;
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key)
    ? `.${key}`
    : `[${JSON.stringify(key)}]`;
}

function show(key: unknown): string {
  return typeof key === 'string'
    ? JSON.stringify(key)
    : typeof key === 'object'
      ? '…'
      : String(key);
}
