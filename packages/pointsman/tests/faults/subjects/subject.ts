/** The part of `SharedMutex` that the client processes use. */

export interface Setting {
  /** Of the server; 0 if the store is on one machine. */
  readonly port: number;
  /** Where processes of one machine meet. */
  readonly directory: string;
  readonly library: 'ioredis' | 'node-redis';
  readonly ttl: number;
  /** `host` is the store on one machine. */
  readonly handler: 'script' | 'pure' | 'host';
  readonly mode: 'local' | 'strict';
  readonly name: string;
}

export interface Guard {
  readonly token: number;
  readonly valid: boolean;
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

export interface Waiting {
  readonly keys: readonly string[];
  readonly session: string;
}

export interface Held extends Waiting {
  readonly token: number;
}

export interface Lock {
  lock(
    keys: readonly string[],
    options?: { timeout?: number; signal?: AbortSignal },
  ): Promise<Guard>;
  query(): Promise<{ held: readonly Held[]; waiting: readonly Waiting[] }>;
  close(): Promise<void>;
}

/** The default export of every other module in this folder. */
export type Open = (setting: Setting) => Promise<Lock>;
