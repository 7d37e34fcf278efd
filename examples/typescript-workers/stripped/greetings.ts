/** Runs in the pool's threads. */
import { shout } from './shout.ts';

export const greet = (name: string): string => shout(`hello ${name}`);
