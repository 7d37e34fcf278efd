'use client';

/**
 * In the page: a thread finds the longest word of one text here, another the longest of a second text on the server,
 * and a worker asks the page which of the two is wider.
 */
import { expose } from 'pointsman/bridge';
import { Pool } from 'pointsman/pool';
import { useEffect, useState } from 'react';
import type { Functions } from '../workers/words';

const here = 'To be, or not to be, that is the question';
const there = 'The slings and arrows of outrageous fortune';

async function longestWords() {
  const pool = new Pool<Functions>({
    worker: () => new Worker(new URL('../workers/words.ts', import.meta.url), { type: 'module' }),
  });
  const answer = fetch('/api/longest', { method: 'POST', body: there });
  try {
    return [await pool.run('longest', [here]), await (await answer).text()];
  } finally {
    await pool.shutdown();
  }
}

/** The functions that a worker may call. */
const apiOf = (words: string[], show: (text: string) => void) => ({
  words: () => words,
  width: (word: string) =>
    document.createElement('canvas').getContext('2d')?.measureText(word).width ?? 0,
  show,
});
export type Api = ReturnType<typeof apiOf>;

export function Widest() {
  const [result, setResult] = useState('');
  useEffect(() => {
    const worker = new Worker(new URL('../workers/layout.ts', import.meta.url), { type: 'module' });
    let left = false;
    longestWords().then((words) => {
      if (!left) expose(worker, apiOf(words, setResult));
    });
    return () => {
      left = true;
      worker.terminate();
    };
  }, []);
  return <p id="result">{result}</p>;
}
