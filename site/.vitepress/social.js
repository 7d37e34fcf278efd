/**
 * The tags that other sites read for the preview of a link.
 *
 * Invariant: addresses are absolute if `ORIGIN` names where the site is published, as most readers of the tags require.
 */
const start = `${process.env.ORIGIN ?? ''}${process.env.BASE ?? '/'}`;

const property = (name, content) => ['meta', { property: name, content }];

export function socialTags({ title, description, pageData }) {
  const page = pageData.relativePath.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '.html');
  return [
    property('og:type', 'website'),
    property('og:site_name', 'Pointsman'),
    property('og:title', title),
    property('og:description', description),
    property('og:url', start + page),
    property('og:image', `${start}social.png`),
    property('og:image:width', '1200'),
    property('og:image:height', '630'),
    property('og:image:alt', 'Pointsman, with its logo: a railway switch and a signal'),
    ['meta', { name: 'twitter:card', content: 'summary_large_image' }],
    ['meta', { name: 'twitter:title', content: title }],
    ['meta', { name: 'twitter:description', content: description }],
    ['meta', { name: 'twitter:image', content: `${start}social.png` }],
  ];
}
