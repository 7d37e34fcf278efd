/** Browsers installed on the machine. Each starts with the address of the tests and a profile of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { bundleThread } from './bundle.js';
import { outcomeMark } from './outcome.js';
import { servePage } from './page-server.js';
import { type Runtime, timeLimit, versionOf } from './runtime.js';

interface Started {
  /** Its processes. */
  readonly programs: ChildProcess[];
  readonly version: string;
}

interface Browser {
  readonly name: string;
  find(): string | undefined;
  readonly missing: string;
  start(path: string, profile: string, url: string): Promise<Started>;
}

function onPath(...programs: string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return programs
    .flatMap((program) => folders.map((folder) => join(folder, program)))
    .find(existsSync);
}

/** On macOS and Windows browsers are not on the PATH. */
const installed = (...paths: string[]): string | undefined => paths.find(existsSync);

async function startHeadless(path: string, parameters: string[]): Promise<Started> {
  // A browser for Windows ignores `--version` and opens a window.
  const version = process.platform === 'win32' ? 'of this system' : await versionOf(path);
  return { programs: [spawn(path, parameters, { stdio: 'ignore' })], version };
}

function browser({ name, find, missing, start }: Browser): Runtime {
  return {
    name,
    entry: 'page',
    find() {
      const path = find();
      return path ? { path } : { missing };
    },
    async run(path, bundle, onLine) {
      const thread = join(dirname(bundle), 'thread.mjs');
      const poolThread = join(dirname(bundle), 'pool.mjs');
      await bundleThread('web', thread);
      await bundleThread('web', poolThread, 'pool');
      const profile = await mkdtemp(join(tmpdir(), 'pointsman-browser-'));
      let end = (): void => {};
      let fail = (_error: Error): void => {};
      const ended = new Promise<void>((resolve, reject) => {
        end = resolve;
        fail = reject;
      });
      const server = await servePage(
        { 'tests.mjs': bundle, 'thread.mjs': thread, 'pool.mjs': poolThread },
        (line) => {
          onLine(line);
          if (line.startsWith(outcomeMark)) end();
        },
        (error) => fail(error),
      );
      const timer = setTimeout(() => fail(new Error('the tests took too long')), timeLimit);
      let programs: ChildProcess[] = [];
      try {
        const started = await start(path, profile, server.url);
        programs = started.programs;
        for (const program of programs) {
          program.once('error', fail);
          program.once('exit', (code) => fail(new Error(`${program.spawnfile} ended: ${code}`)));
        }
        await ended;
        return started.version;
      } finally {
        clearTimeout(timer);
        server.close();
        for (const program of programs) {
          if (program.kill('SIGKILL')) await once(program, 'close');
        }
        // Its other processes write to the profile until they notice the end.
        await rm(profile, { recursive: true, force: true, maxRetries: 20 });
      }
    },
  };
}

const chromium = browser({
  name: 'chromium',
  find: () =>
    onPath('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable') ??
    installed(
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      'C:/Program Files/Google/Chrome/Application/chrome.exe',
    ),
  missing: 'neither Chromium nor Chrome is installed (Debian: chromium)',
  start(path, profile, url) {
    // A container has no user namespaces for the sandbox and little shared memory. The page is trusted.
    const container = ['--no-sandbox', '--disable-dev-shm-usage'];
    return startHeadless(path, ['--headless', ...container, `--user-data-dir=${profile}`, url]);
  },
});

const firefox = browser({
  name: 'firefox',
  find: () =>
    onPath('firefox-esr', 'firefox') ??
    installed('/Applications/Firefox.app/Contents/MacOS/firefox'),
  missing: 'Firefox is not installed (Debian: firefox-esr)',
  start: (path, profile, url) =>
    startHeadless(path, ['--headless', '--no-remote', '--profile', profile, url]),
});

/** WebKit's own small browser, in the folder of its library. */
function miniBrowser(): string | undefined {
  const folders = ['/usr/lib', '/usr/libexec'].filter(existsSync);
  return folders
    .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
    .map((folder) => join(folder, 'webkit2gtk-4.1/MiniBrowser'))
    .find(existsSync);
}

const webkit = browser({
  name: 'webkit',
  find: () => (onPath('Xvfb') ? miniBrowser() : undefined),
  missing: 'WebKitGTK or Xvfb is not installed (Debian: webkit2gtk-driver, xvfb)',
  async start(path, profile, url) {
    const screen = spawn('Xvfb', ['-displayfd', '3', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const [display] = await once(screen.stdio[3] as Readable, 'data');
    const env = {
      ...process.env,
      DISPLAY: `:${String(display).trim()}`,
      HOME: profile,
      // Safari has SharedArrayBuffer in isolated pages; WebKitGTK, of the same engine, hides it there too.
      JSC_useSharedArrayBuffer: '1',
    };
    const { stdout } = spawnSync(path, ['--version'], { env, encoding: 'utf8' });
    const program = spawn(path, ['--private', url], { stdio: 'ignore', env });
    return { programs: [program, screen], version: stdout.replace(/[^\d.]/g, '') };
  },
});

export const browsers = { chromium, firefox, webkit };
