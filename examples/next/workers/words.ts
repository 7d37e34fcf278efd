/** Runs in the pool's threads: finds words. */
import { serve } from 'pointsman/pool';

const functions = {
  longest: (text: string) =>
    text.split(/\W+/).reduce((best, word) => (word.length > best.length ? word : best)),
};
export type Functions = typeof functions;
serve(functions);
