/**
 * Prints the lines of a folder's files that match a pattern:
 *
 *     deno run --allow-read=. grep.ts 'import .* from' .
 *
 * At most four files are in memory at once. The pattern runs in threads, so that one that never finishes, such as
 * ^(a+)+$ on a line of many a and a b, costs five seconds and a message, not the program.
 *
 * It needs only the permission to read: the files, its own module for the threads, and the package. In this repository
 * the package is one folder up, hence the second path in package.json.
 */
import { Limiter } from 'npm:pointsman';
import { Pool, TimeoutError } from 'npm:pointsman/pool';

const [pattern, folder] = Deno.args;
if (!pattern || !folder) throw new Error("deno run --allow-read=. grep.ts '<pattern>' <folder>");

async function* files(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    if (isDirectory) yield* files(`${folder}/${name}`);
    if (isFile) yield `${folder}/${name}`;
  }
}

await using pool = new Pool<typeof import('./match.ts')>({
  module: new URL('./match.ts', import.meta.url),
});
const memory = new Limiter({ concurrency: 4 });

async function search(file: string): Promise<string[]> {
  const text = await Deno.readTextFile(file);
  try {
    const lines = await pool.run('match', [text, pattern], { runTimeout: 5_000 });
    return lines.map((line) => `${file}: ${line}`);
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    return [`${file}: given up after 5 seconds`];
  }
}

for await (const lines of memory.map(files(folder), search)) {
  for (const line of lines) console.log(line);
}
