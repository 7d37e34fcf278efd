/** `pool.proxy`: the functions of a pool as an object of functions. */

/** Maximum number of cached names. Names may come from outside the program, so their number is not bounded. */
const MAX_KNOWN = 256;

/**
 * Returns an object in which each property is the function of that name; a property of such a function is the function
 * named `<name>.<property>`. The first {@link MAX_KNOWN} names return the same function on each access.
 */
export function proxyOf(
  run: (name: string, args: readonly unknown[]) => Promise<unknown>,
): unknown {
  const known = new Map<string, unknown>();
  const at = (path: string): unknown =>
    new Proxy(() => {}, {
      get(_, name) {
        // Otherwise `await` would treat the proxy as a thenable.
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
