/**
 * The document's cell: the host is a page of headless Chromium with shared memory, the worker a web worker of that
 * page.
 */
import type { Cell } from '../../../harness/table.js';
import { findChromium, noChromium, openBrowser } from '../page/browser.js';
import { subjectNamed, subjects } from '../subjects/index.js';
import { measureInAll } from './measure.js';

export const chromiumCell: Cell = {
  id: 'chromium',
  subjects: subjects
    .filter(({ platforms }) => platforms.includes('Chromium'))
    .map(({ name }) => name),
  expectedMilliseconds: 7_000,
  limitMilliseconds: 120_000,
  async measure(name, budget, isWanted) {
    const program = findChromium();
    if (program === undefined) {
      return { ok: false, unavailable: true, note: noChromium, samples: {} };
    }
    const browser = await openBrowser(program, name);
    try {
      return await measureInAll(
        subjectNamed(name),
        { platform: 'Chromium', ...browser },
        budget,
        isWanted,
      );
    } finally {
      await browser.close();
    }
  },
};
