/** The functions of a pool as functions to be called. */

/** Whatever is looked up on it is a function of that name, and has those of the names behind a dot. */
export function proxyOf(
  run: (name: string, args: readonly unknown[]) => Promise<unknown>,
  path: string,
): unknown {
  const known = new Map<string, unknown>();
  return new Proxy(() => {}, {
    get(_, name) {
      // Nobody shall take it for a promise.
      if (typeof name === 'symbol' || name === 'then') return undefined;
      if (!known.has(name)) known.set(name, proxyOf(run, path === '' ? name : `${path}.${name}`));
      return known.get(name);
    },
    apply: (_target, _this, args) => run(path, args),
  });
}
