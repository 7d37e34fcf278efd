/**
 * Makes the folder `jsr` of what is built: what `jsr.json` publishes. JSR looks neither at package.json nor at its
 * conditions, so the entries whose files differ between runtimes, those with threads, are not there.
 *
 * Invariant: it is what npm publishes, but for two comments. JavaScript says where its declarations are, and these do not
 * ask for a library of the compiler, which JSR forbids; Deno's has `Disposable`.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const from = fileURLToPath(new URL('dist', import.meta.url));
const to = fileURLToPath(new URL('jsr', import.meta.url));
const published =
  /^(common|diagnostics(-watch)?|host(-server)?|http|index|redis|server-thread|shared|sync)\b(?!\.node)/;

rmSync(to, { recursive: true, force: true });
for (const name of readdirSync(from).filter((name) => published.test(name))) {
  cpSync(`${from}/${name}`, `${to}/${name}`, { recursive: true });
}
for (const name of readdirSync(to).filter((name) => /\.[jt]s$/.test(name))) {
  const text = readFileSync(`${to}/${name}`, 'utf8');
  const declarations = name.replace(/\.js$/, '.d.ts');
  if (name.endsWith('.d.ts')) {
    writeFileSync(`${to}/${name}`, text.replace(/^\/\/\/ <reference lib=.*\n/, ''));
  } else if (existsSync(`${to}/${declarations}`)) {
    writeFileSync(`${to}/${name}`, `/* @ts-self-types="./${declarations}" */\n${text}`);
  }
}
