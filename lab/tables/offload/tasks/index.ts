/** Every function that a thread exports, except the one that each pool writes in its own way. */
export * from '../faults/functions.js';
export * from './functions.js';
