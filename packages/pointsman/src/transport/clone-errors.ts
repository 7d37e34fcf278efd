/** Errors for values that cannot be sent. Each names the path of the part that is refused: `value.items[3].run`. */

export class DataCloneError extends Error {
  override readonly name = 'DataCloneError';
}

/** Thrown inside a traversal, where the path is not known; {@link refusal} finds the path. */
export class Refused {
  constructor(
    readonly value: unknown,
    readonly reason: string,
  ) {}
}

/** Returns the error for the caller. */
export function refusal(root: unknown, { value, reason }: Refused): DataCloneError {
  return new DataCloneError(`${pathTo(root, value)} cannot be cloned: it is ${reason}`);
}

/** Maximum depth of the search for the refused part. Each level clones everything below it. */
const MAX_SEARCH_DEPTH = 50;

/**
 * Returns the error for a value that structured clone refused; the platform does not say which part it refused.
 *
 * The part is searched for only if `transfer` contains nothing but buffers: Node 20 crashes when it clones a port
 * that was transferred to another thread.
 */
export function platformRefusal(
  root: unknown,
  cause: unknown,
  transfer: readonly object[],
): DataCloneError {
  let path = 'value';
  let value = root;
  const maxDepth = transfer.every((each) => each instanceof ArrayBuffer) ? MAX_SEARCH_DEPTH : 0;
  for (let depth = 0; depth < maxDepth; depth++) {
    const part = uncloneablePart(path, value);
    if (part === undefined) break;
    [path, value] = part;
  }
  const said = cause instanceof Error ? cause.message : String(cause);
  return new DataCloneError(`${path} cannot be cloned: ${said}`, { cause });
}

function uncloneablePart(path: string, value: unknown): Part | undefined {
  return partsOf(path, value).find(([, part]) => {
    try {
      structuredClone(part);
      return false;
    } catch {
      return true;
    }
  });
}

type Part = readonly [path: string, value: unknown];

/** Returns the shortest path to a part of `root`. */
function pathTo(root: unknown, wanted: unknown): string {
  const visited = new Set<unknown>();
  // A list instead of recursion: the value may be deep.
  const parts: Part[] = [['value', root]];
  for (const [path, value] of parts) {
    if (value === wanted) return path;
    if (visited.has(value)) continue;
    visited.add(value);
    parts.push(...partsOf(path, value));
  }
  return 'value';
}

function partsOf(path: string, value: unknown): Part[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  if (value instanceof Map) {
    return [...value].flatMap(([key, item], index): Part[] => [
      [`${path}.keys()[${index}]`, key],
      [`${path}.get(${show(key)})`, item],
    ]);
  }
  if (value instanceof Set) {
    return [...value].map((item, index): Part => [`${path}.values()[${index}]`, item]);
  }
  return Object.getOwnPropertyNames(value).map((key): Part => {
    const item = Object.getOwnPropertyDescriptor(value, key)?.value;
    return [path + member(key, Array.isArray(value)), item];
  });
}

/** Formats a property access: `.name`, `[3]` or `["a b"]`. */
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
