import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const docs = fileURLToPath(new URL('../docs/', import.meta.url));
const order = ['Recipes', 'Options', 'Methods', 'Errors', 'Guarantees', 'Costs', 'See also'];

const guides = [
  ...['sync.md', 'pool.md', 'bridge.md', 'redis.md', 'diagnostics.md', 'install.md'],
  'runtime-diagnostics.md',
  ...readdirSync(`${docs}shared`).map((name) => `shared/${name}`),
  ...readdirSync(`${docs}sync`).map((name) => `sync/${name}`),
].filter((name) => existsSync(docs + name));

/** The text without blocks of code, in which `#` begins a comment. */
const prose = (text: string) => text.replaceAll(/^```[\s\S]*?^```$/gm, '');

describe.each(guides)('%s', (guide) => {
  const text = readFileSync(docs + guide, 'utf8');

  test('begins with a problem and a program before the first heading', () => {
    const [opening = ''] = text.split('\n## ');
    expect(opening).toMatch(/^# .+\n\n[A-Z]/);
    expect(opening).toMatch(/\n```ts\n[\s\S]*console\.log|\n```rust\n[\s\S]*println!/);
  });

  test('has the headings of all guides, in their order', () => {
    const headings = [...prose(text).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(order.filter((heading) => headings.includes(heading)));
    expect(headings).toContain('Recipes');
    expect(headings.at(-1)).toBe('See also');
  });
});
