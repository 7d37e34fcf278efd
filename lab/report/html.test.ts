import { expect, it } from 'vitest';
import { html } from './html.js';

it('escapes text, and inserts markup unchanged', () => {
  const item = html`<li>${'<b> & "c"'}</li>`;
  expect(html`<ul title="${'a "quote"'}">${[item, html`<li>${1}</li>`]}</ul>`.toString()).toBe(
    '<ul title="a &#34;quote&#34;"><li>&#60;b&#62; &#38; &#34;c&#34;</li><li>1</li></ul>',
  );
});

it('skips absent values', () => {
  expect(html`<p>${false}${null}${undefined}${''}</p>`.toString()).toBe('<p></p>');
});
