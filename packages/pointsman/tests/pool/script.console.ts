/** The script of the threads if the tests are bundled: the runner puts it next to them. */
import { fileURLToPath } from 'node:url';

export async function script(): Promise<string> {
  return fileURLToPath(new URL('./pool.mjs', import.meta.url));
}
