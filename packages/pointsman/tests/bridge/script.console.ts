/** The script of the threads where the tests are bundled too: the runner puts it beside them. */
import { fileURLToPath } from 'node:url';

export async function script(): Promise<string> {
  return fileURLToPath(new URL('./thread.mjs', import.meta.url));
}
