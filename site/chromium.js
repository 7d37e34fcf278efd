/** Starts the system's Chromium. */
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export function launchChromium() {
  const [executablePath] = execFileSync('sh', ['-c', `command -v ${programs.join(' ')} || true`], {
    encoding: 'utf8',
  }).split('\n');
  if (!executablePath) throw new Error('Chromium is needed: Debian has it as package chromium');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
