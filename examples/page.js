/**
 * Tests the pages of an example in headless Chromium. A page comes from a folder, served as static files, or from a
 * command that starts a server and prints its address.
 *
 * Invariant: `tryPages` resolves if and only if the element `#result` of each page shows its text, no page reports an
 * error, and no server warns. Servers and browser have then ended.
 */
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { chromium } from 'playwright-core';
import { Command } from './command.js';

const deadline = 60_000;
const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.txt': 'text/plain',
};
/** The headers that give a page shared memory. */
const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Each page is `{ folder, isolated?, shows }` or `{ command, shows }`. A command is a user's, with `--port 0` or
 * similar for a free port.
 */
export async function tryPages(pages) {
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  try {
    for (const { shows, ...source } of pages) {
      const { url, command, close } = await ('command' in source ? startServer : serveFolder)(
        source,
      );
      try {
        await tryPage(browser, url, shows);
        if (command?.warning) throw new Error(`its server warns: ${command.warning}`);
      } catch (error) {
        const said = command ? `\nIts server:\n${command.output}` : '';
        throw new Error(`${JSON.stringify(source)}: ${error.message}${said}`);
      } finally {
        await close();
      }
    }
  } finally {
    await browser.close();
  }
}

async function tryPage(browser, url, expected) {
  const page = await browser.newPage();
  const problems = [];
  const problem = new Promise((resolve) => {
    const report = (text) => resolve(problems.push(text));
    page.on('pageerror', (error) => report(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) report(message.text());
    });
  });
  try {
    await page.goto(url, { timeout: deadline });
    const result = page.locator('#result').filter({ hasText: /./ });
    await Promise.race([result.waitFor({ timeout: deadline }), problem]);
    if (problems.length > 0) throw new Error(`the page reports ${problems.join('; ')}`);
    const shown = await result.textContent();
    if (shown !== expected) throw new Error(`the page shows ${JSON.stringify(shown)}`);
  } finally {
    await page.close();
  }
}

function findChromium() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  // Some shells look only for the first name of a `command -v`.
  const found = execFileSync('sh', ['-c', `command -v ${names.join(' || command -v ')} || true`]);
  const [path] = found.toString().split('\n');
  if (!path) throw new Error('Chromium is needed: Debian has it as package chromium');
  return path;
}

async function serveFolder({ folder, isolated = false }) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname);
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    try {
      const body = await readFile(file);
      response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
      if (isolated) response.setHeaders(new Map(Object.entries(isolation)));
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: async () => server.close(),
  };
}

async function startServer({ command: line }) {
  let started;
  const url = new Promise((resolve) => {
    started = ({ output }) => {
      const address = output.match(/http:\/\/localhost:[1-9]\d*/);
      if (address) resolve(address[0]);
    };
  });
  const command = new Command(line, { onOutput: started });
  const ended = command.closed.then(() => {
    throw new Error(`${line} has ended:\n${command.output}`);
  });
  ended.catch(() => {});
  return {
    url: await Promise.race([url, ended]),
    command,
    close: () => command.end(),
  };
}
