/** Starts the system's Chromium. */
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

export function launchChromium() {
  // Some shells look only for the first name of a `command -v`.
  const search = `command -v ${programs.join(' || command -v ')} || true`;
  const [executablePath] = execFileSync('sh', ['-c', search], { encoding: 'utf8' }).split('\n');
  if (!executablePath) throw new Error('Chromium is needed: Debian has it as package chromium');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}
