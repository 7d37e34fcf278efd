/** @std/async of Deno, which is not on npm; `make std-async` builds it into lab/.tools/std-async. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

// From the compiled module in lab/dist/tables/vocabulary/.
const built = fileURLToPath(new URL('../../../.tools/std-async/', import.meta.url));
const modulePath = `${built}channel.js`;

interface Channel extends AsyncIterable<number> {
  send(value: number): Promise<void>;
  trySend(value: number): boolean;
  receive(): Promise<number>;
  close(): void;
}

interface StdAsync {
  readonly Channel: new (options: { capacity: number }) => Channel;
}

export const stdAsync = {
  missing: () =>
    existsSync(modulePath) ? undefined : 'not here: @std/async, which `make std-async` builds',
  load: (): Promise<StdAsync> => import(pathToFileURL(modulePath).href),
  version: (): string =>
    existsSync(modulePath) ? JSON.parse(readFileSync(`${built}deno.json`, 'utf8')).version : '',
};
