/** Draws `public/social.png`, the picture that other sites show beside a link, from `social.svg`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchChromium } from './chromium.js';

const file = (name) => join(import.meta.dirname, name);

const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1200, height: 630 } });
  await page.setContent(`<body style="margin: 0">${readFileSync(file('social.svg'), 'utf8')}`);
  await page.screenshot({ path: file('public/social.png') });
} finally {
  await browser.close();
}
