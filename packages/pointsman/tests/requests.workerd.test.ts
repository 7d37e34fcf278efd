/**
 * A lock shared by requests in workerd. A request whose promise is resolved from another request must have some
 * operation of its own pending, or workerd reports that it hangs. A timeout counts, so a lock acquired with one works
 * across requests.
 */
import { Mutex } from 'pointsman';
import { expect, test } from 'vitest';
import { handle, request } from './runtimes/inside/requests.js';

test('requests that share a mutex wait for each other', async () => {
  const mutex = new Mutex();
  let inside = 0;
  let most = 0;
  handle('/mutex', async () => {
    using _guard = await mutex.lock({ timeout: 10_000 });
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 3));
    inside -= 1;
    return new Response('done');
  });
  const responses = await Promise.all(Array.from({ length: 20 }, () => request('/mutex')));
  expect(await Promise.all(responses.map((response) => response.text()))).toEqual(
    Array.from({ length: 20 }, () => 'done'),
  );
  expect(most).toBe(1);
  expect(mutex.locked).toBe(false);
});
