/** The npm package does not export its types. */
declare module 'synclink' {
  type Task<Value> = PromiseLike<Value> & { syncify(): Value };

  export function expose(functions: object, end: unknown): void;

  export function wrap<Functions>(end: unknown): {
    readonly [Name in keyof Functions]: Functions[Name] extends (
      ...given: infer Given
    ) => infer Value
      ? (...given: Given) => Task<Value>
      : never;
  };
}
