/** The part of a primitive that the client processes use. */

export type Primitive = 'mutex' | 'rwlock' | 'semaphore' | 'leader';

/** The number of permits of each key of a semaphore. */
export const permits = 4;

/** How a request shares its keys. One without it holds them alone. */
export interface Share {
  readonly weight: number;
  /** The highest sum of the weights on a key; 0 for none. */
  readonly limit: number;
}

export interface Setting {
  readonly primitive: Primitive;
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
  /** Undefined if it excludes all others. */
  readonly weight?: number | undefined;
}

export interface Lock {
  lock(
    keys: readonly string[],
    options?: { timeout?: number; signal?: AbortSignal; share?: Share | undefined },
  ): Promise<Guard>;
  /** Turns a writer into a reader. */
  downgrade?(guard: Guard): Promise<void>;
  query(): Promise<{ held: readonly Held[]; waiting: readonly Waiting[] }>;
  close(): Promise<void>;
}

/** The default export of every other module in this folder. */
export type Open = (setting: Setting) => Promise<Lock>;
