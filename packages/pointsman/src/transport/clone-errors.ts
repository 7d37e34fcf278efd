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

/** Levels that are searched: at each of them all that lies below is cloned. */
const DEEPEST = 50;

/**
 * The same for something that the platform has refused, which says only that it did. `transfer`: what was to move.
 * If that is more than buffers, the place is not searched: Node 20 crashes when it clones a port that has moved to
 * another thread.
 */
export function platformRefusal(
  root: unknown,
  cause: unknown,
  transfer: readonly object[],
): DataCloneError {
  let path = 'value';
  let value = root;
  const deepest = transfer.every((each) => each instanceof ArrayBuffer) ? DEEPEST : 0;
  for (let depth = 0; depth < deepest; depth++) {
    const part = uncloneablePart(path, value);
    if (part === undefined) break;
    [path, value] = part;
  }
  const said = cause instanceof Error ? cause.message : String(cause);
  return new DataCloneError(`${path} cannot be cloned: ${said}`, { cause });
}

function uncloneablePart(path: string, value: unknown): Place | undefined {
  return partsOf(path, value).find(([, part]) => {
    try {
      structuredClone(part);
      return false;
    } catch {
      return true;
    }
  });
}

type Place = readonly [path: string, value: unknown];

/** The first place at which the value stands. Looks only after something has failed. */
function pathTo(root: unknown, wanted: unknown): string {
  const visited = new Set<unknown>();
  // A list instead of recursion: what is looked through may be deep.
  const places: Place[] = [['value', root]];
  for (const [path, value] of places) {
    if (value === wanted) return path;
    if (visited.has(value)) continue;
    visited.add(value);
    places.push(...partsOf(path, value));
  }
  return 'value';
}

function partsOf(path: string, value: unknown): Place[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  if (value instanceof Map) {
    return [...value].flatMap(([key, item], index): Place[] => [
      [`${path}.keys()[${index}]`, key],
      [`${path}.get(${show(key)})`, item],
    ]);
  }
  if (value instanceof Set) {
    return [...value].map((item, index): Place => [`${path}.values()[${index}]`, item]);
  }
  return Object.getOwnPropertyNames(value).map((key): Place => {
    const item = Object.getOwnPropertyDescriptor(value, key)?.value;
    return [path + member(key, Array.isArray(value)), item];
  });
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
