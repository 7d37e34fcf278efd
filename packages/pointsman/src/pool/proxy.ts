/** The functions of a pool as functions to be called. */

/** How many names keep their function. Names may come from outside of the program, and be without number. */
const MAX_KNOWN = 256;

/**
 * Each property is the function of that name, whose properties are the functions with that name and a dot before.
 * The first names that are used have one and the same function each time; beyond that it is made anew.
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
