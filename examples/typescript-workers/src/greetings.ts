/** Runs in the pool's threads. */
import { shout } from './shout.js';

export const greet = (name: string): string => shout(`hello ${name}`);
