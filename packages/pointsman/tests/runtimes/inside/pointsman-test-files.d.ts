declare module 'pointsman-test-files' {
  /** Loads each test file, which registers its tests. */
  export const testFiles: Record<string, () => Promise<unknown>>;
}
