import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { documents, statedSizes, writeSizes } from './document.js';
import { type MeasuredLine, measureSizes } from './measured.js';

const line: MeasuredLine = {
  id: 'Mutex',
  ours: { title: '`Mutex`', bytes: 4_449 },
  peers: [
    { title: 'narrow', bytes: 949 },
    { title: 'wide', bytes: 12_000 },
  ],
};

test('the figures are written between the comments, and nothing else changes', () => {
  const text =
    'Takes <!-- size Mutex -->?<!-- /size -->.\n\n<!-- sizes -->\nold\n<!-- /sizes -->\n\nEnd.\n';
  const written = writeSizes(text, [line, { ...line, id: 'other', peers: [] }]);
  expect(written).toBe(`Takes <!-- size Mutex -->4.4 kB<!-- /size -->.

<!-- sizes -->

| import  |  kB | narrow peers, kB      |
| ------- | --: | --------------------- |
| \`Mutex\` | 4.4 | narrow 0.9, wide 12.0 |
| \`Mutex\` | 4.4 |                       |

<!-- /sizes -->

End.
`);
  expect(writeSizes(written, [line, { ...line, id: 'other', peers: [] }])).toBe(written);
  expect(() => writeSizes(text, [])).toThrow('no size has the name Mutex');
});

const measured = await measureSizes();

test.each(documents)('%s states what is measured: otherwise run make sizes', (path) => {
  const text = readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
  const [stated, expected] = [text, writeSizes(text, measured)].map((one) =>
    statedSizes(one).join('\n'),
  ) as [string, string];
  expect(stated).toMatch(/\d/);
  const figures = /\d+\.\d/g;
  const words = (sizes: string) =>
    sizes.replace(figures, '#').replace(/ +/g, ' ').replace(/-+/g, '-');
  expect(words(stated)).toBe(words(expected));
  // Versions of Node compress by some bytes more or less, so a figure at the edge may be rounded up or down.
  const numbers = (sizes: string) => (sizes.match(figures) ?? []).map(Number);
  const differences = numbers(stated).map((number, index) =>
    Math.abs(number - (numbers(expected)[index] as number)),
  );
  expect(Math.max(...differences)).toBeLessThan(0.11);
});
