import { Semaphore } from 'pointsman';
import { connect, expose } from 'pointsman/bridge';
import * as diagnostics from 'pointsman/diagnostics';
import { inline, Pool } from 'pointsman/pool';
import { redis } from 'pointsman/redis';
import { SharedMutex } from 'pointsman/shared';

export const entries = [connect, expose, diagnostics, inline, redis, SharedMutex];

interface Words {
  longest(text: string): string;
}

export async function main(): Promise<string> {
  const pool = new Pool<Words>({ module: new URL('./words.mjs', import.meta.url) });
  const semaphore = new Semaphore(2);
  const word: string = await semaphore.run(() => pool.run('longest', ['not to be']));
  // @ts-expect-error: the function takes a string.
  await pool.run('longest', [1]);
  return word;
}
