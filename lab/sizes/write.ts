/** `make sizes`: measures the sizes and writes them into the READMEs of the repository and of the npm package. */
import { readFileSync, writeFileSync } from 'node:fs';
import { documents, writeSizes } from './document.js';
import { measureSizes } from './measured.js';

const lines = await measureSizes();
for (const path of documents) {
  const text = readFileSync(path, 'utf8');
  const written = writeSizes(text, lines);
  if (written !== text) writeFileSync(path, written);
}
for (const { ours } of lines)
  console.log(`${String(ours.bytes).padStart(6)} B  ${ours.title.replaceAll('`', '')}`);
