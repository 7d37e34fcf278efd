/** No tool complains about this. */
import { Mutex, Semaphore } from 'pointsman';
import { Pool } from 'pointsman/pool';

const semaphore = new Semaphore(2);
const mutex = new Mutex();
const pool = new Pool();

export async function work(line: string): Promise<number> {
  using _permit = await semaphore.acquire();
  void pool.run('index', [line]).catch(console.error);
  await mutex.run(() => console.log(line));
  return semaphore.available;
}
