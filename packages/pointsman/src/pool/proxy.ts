/** The functions of a pool as functions to be called. */

/** Maximum number of cached names. Names may come from outside the program, so their number is not bounded. */
const MAX_KNOWN = 256;

/**
 * Each property is the function of that name; its own properties are the functions named `<name>.<property>`.
 * The first names that are used get the same function each time; for further names a new function is made.
 */
export function proxyOf(
  run: (name: string, args: readonly unknown[]) => Promise<unknown>,
): unknown {
  const known = new Map<string, unknown>();
  const at = (path: string): unknown =>
    new Proxy(() => {}, {
      get(_, name) {
        // It must not be taken for a promise.
        if (typeof name === 'symbol' || name === 'then') return undefined;
        const inner = path === '' ? name : `${path}.${name}`;
        const found = known.get(inner) ?? at(inner);
        if (known.size < MAX_KNOWN) known.set(inner, found);
        return found;
      },
      apply: (_target, _this, args) => run(path, args),
    });
  return at('');
}
