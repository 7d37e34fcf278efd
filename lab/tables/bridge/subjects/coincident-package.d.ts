/** The npm package has no types. */
declare module 'coincident/main' {
  export default function coincident(): {
    readonly Worker: new (url: string, options: WorkerOptions) => Worker & { proxy: object };
  };
}

declare module 'coincident/worker' {
  export default function coincident(): Promise<{
    readonly proxy: import('../host/functions.js').ServedFunctions;
    readonly native: boolean;
  }>;
}
