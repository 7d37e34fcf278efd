/**
 * Whether source text may become a function here: content security policies and some runtimes forbid it.
 *
 * Invariant: nothing depends on it but speed. Whoever compiles has a loop that does the same.
 */

let allowed: boolean | undefined;

export function mayCompile(): boolean {
  if (allowed === undefined) {
    try {
      new Function('');
      allowed = true;
    } catch {
      allowed = false;
    }
  }
  return allowed;
}

/** As in a literal, where `__proto__` would be no property. */
export function literalKey(key: string): string {
  return key === '__proto__' ? '["__proto__"]' : JSON.stringify(key);
}
