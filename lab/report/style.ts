/**
 * The style of the page and the charts. Colours are named by their meaning, for light and dark mode.
 */
const light = `
  --ground: #fdfdfb; --ink: #1b1d20; --quiet: #676c73; --line: #e4e4df; --shade: #f4f4f0;
  --ours: #1f5fbf; --ours-text: #1f5fbf; --peer: #7c838c; --peer-text: #1b1d20;
  --floor: #b4872c; --floor-text: #86611a; --faster: #17714b; --slower: #b03a1a;`;
const dark = `
  --ground: #131518; --ink: #e7e7e3; --quiet: #989da5; --line: #2c3036; --shade: #1b1e22;
  --ours: #7fb0ff; --ours-text: #8fbaff; --peer: #878e98; --peer-text: #e7e7e3;
  --floor: #c79a45; --floor-text: #d9b26a; --faster: #5cc694; --slower: #f0926f;`;

export const pictureStyle = `
svg {${light} color: var(--ink); font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-variant-numeric: tabular-nums; fill: currentColor; }
@media (prefers-color-scheme: dark) { svg {${dark} } }
.title { font-size: 16px; font-weight: 600; }
.small { font-size: 12px; fill: var(--quiet); }
.ground { fill: var(--ground); }
`;

export const pageStyle = `
:root {${light} color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root {${dark} } }
* { box-sizing: border-box; }
html { font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; background: var(--ground); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { margin: 0; font-variant-numeric: tabular-nums; }
a { color: inherit; text-decoration-color: var(--peer); text-underline-offset: 0.18em; }
a:hover { text-decoration-color: currentColor; }
code { font: 0.85em/1.5 ui-monospace, 'SF Mono', Menlo, 'DejaVu Sans Mono', monospace; background: var(--shade); padding: 0.2em 0.5em; border-radius: 4px; overflow-wrap: anywhere; user-select: all; }
.masthead, main { max-width: 76rem; margin: 0 auto; padding: 0 1.5rem; }
.masthead { padding-top: 1rem; }
h1 { margin: 0; font-size: 1.125rem; line-height: 1.3; font-weight: 600; }
h1 span { color: var(--quiet); font-weight: 400; }
em { font-style: normal; font-weight: 600; }
em.faster { color: var(--ours); }
em.slower { color: var(--slower); }
small { font-size: 0.875em; color: var(--quiet); }

.overview { display: grid; gap: 0 3rem; margin: 0.75rem 0 0; padding: 0; list-style: none; }
.overview.two { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.overview.three { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.overview li { display: grid; align-content: space-between; gap: 0.5rem 1.5rem; padding: 0.875rem 0 1rem; border-top: 1px solid var(--line); }
.overview.two li { grid-template-columns: minmax(0, 1fr) minmax(0, 1.5fr); }
.overview h2 { margin: 0 0 0.375rem; font-size: 0.9375rem; font-weight: 600; line-height: 1.4; }
.overview p { margin: 0; font-size: 0.875rem; line-height: 1.45; }
.overview em { display: block; font-size: 1.25rem; line-height: 1.3; }
.overview.three em { display: inline; font-size: 1em; }
.overview figcaption { margin: 0 0 0.25rem; font-size: 0.8125rem; }
.overview svg { width: 100%; max-width: 25rem; }
.legend { margin: 0; padding-top: 0.75rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: 0.8125rem; }
.legend span { margin-right: 1rem; }
.legend span::before { content: ''; display: inline-block; width: 1rem; height: 0.4375rem; margin-right: 0.375rem; vertical-align: 0.0625rem; background: var(--peer); }
.legend .ours::before { background: var(--ours); }
.legend .floor::before { height: 0; vertical-align: 0.25rem; background: none; border-top: 1px dashed var(--floor); }
.rule { margin: 0.5rem 0 0; max-width: 60em; color: var(--quiet); font-size: 0.8125rem; }
.uncertain { margin-top: 0.75rem; font-size: 0.875rem; }
.uncertain ul { margin: 0; padding-left: 1.25rem; }
.beside { max-width: 60em; margin: 0.5rem 0 0; font-size: 1rem; }
article { padding-bottom: 1.5rem; border-bottom: 1px solid var(--line); }
.eyebrow { margin: 2.5rem 0 0.75rem; color: var(--quiet); font-size: 0.875rem; }
article > h2 { max-width: 60em; margin: 0; font-size: 1.25rem; line-height: 1.35; font-weight: 600; text-wrap: pretty; }
article > h2 small { font-weight: 400; }
.byline { margin: 0.75rem 0 0; color: var(--quiet); font-size: 0.875rem; }
.method h2, h3 { margin: 1.75rem 0 0.25rem; font-size: 1.125rem; font-weight: 600; letter-spacing: -0.005em; }
h4 { margin: 0; font-size: 1rem; font-weight: 600; overflow-wrap: anywhere; }
.source, .about { margin: 0 0 0.5rem; color: var(--quiet); font-size: 0.875rem; }
.about { max-width: 70em; }
.method p { max-width: 44em; }

.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.875rem; line-height: 1.35; }
caption { text-align: left; color: var(--quiet); padding: 0.5rem 0; }
th, td { padding: 0.4rem 0.6rem; text-align: right; vertical-align: baseline; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 400; color: var(--quiet); vertical-align: bottom; white-space: normal; }
.document { font-size: 0.8125rem; }
.document th, .document td { padding-left: 0.45rem; padding-right: 0.45rem; }
.document th:first-child { padding-left: 0; }
.document thead tr:first-child th { border-bottom: 0; padding-bottom: 0; color: var(--ink); font-weight: 500; }
.document caption { max-width: 60em; }
.tests { font-size: 0.75rem; }
.tests th, .tests td { padding-left: 0.3rem; padding-right: 0.3rem; }
.tests td.ratio + td { border-left: 1px solid var(--line); }
.document.tests { width: auto; }
.tests thead tr + tr th:first-child { padding-left: 0.3rem; text-align: right; }
.tests .version { font-size: 0.75rem; }
.tests tbody th { min-width: 12rem; }
.matrix { font-size: 0.8125rem; }
.matrix th, .matrix td { padding: 0.4rem 0.3rem; }
.matrix th:first-child { padding-left: 0; }
.matrix .block { border-left: 1px solid var(--line); padding-left: 0.6rem; }
.matrix thead tr:first-child th { border-bottom: 0; color: var(--ink); text-align: left; }
.turned thead tr:first-child th + th { text-align: right; }
.turned td { padding-left: 1.5rem; }
.turned tbody tr:not(.heading) th { min-width: 6rem; }
tr.heading th { padding-top: 1rem; color: var(--quiet); font-weight: 500; }
.behaviours th, .behaviours td { vertical-align: top; text-align: left; white-space: normal; min-width: 6.5rem; }
.behaviours td.absent { color: var(--slower); }
.behaviours thead tr:first-child th { border-bottom: 1px solid var(--line); }
.matrix .faster, .source .faster { color: var(--faster); }
.matrix .slower, .source .slower { color: var(--slower); }
tbody th { font-weight: 400; white-space: normal; }
tr.ours th, tr.ours .here { font-weight: 600; color: var(--ours-text); }
tr.floor th, tr.floor .here { color: var(--floor-text); }
.published { color: var(--quiet); }
.version, .range, .unit { color: var(--quiet); font-weight: 400; font-size: 0.8125rem; }
.processor-time, .worst { display: block; color: var(--quiet); font-weight: 400; font-size: 0.75rem; }
th .unit { display: block; color: var(--quiet); font-size: 0.8125rem; font-weight: 400; }
td.note, th.note { text-align: left; color: var(--quiet); white-space: normal; }
.absent { color: var(--slower); white-space: normal; }
td.absent[colspan] { text-align: left; }
.ratio strong { font-weight: 600; }
.faster strong, .verdict.faster { color: var(--faster); }
.slower strong, .verdict.slower { color: var(--slower); }
tr.floor .ratio strong { color: inherit; }
.verdict.no-difference, .verdict.unknown { color: var(--quiet); }
.interval { vertical-align: -3px; margin-left: 0.5rem; }
.interval .noise { fill: var(--line); }
.interval .level { stroke: var(--quiet); stroke-width: 1; }
.interval .reach { stroke: var(--peer); stroke-width: 2; }
.interval circle { fill: var(--peer); }
.interval.faster .reach { stroke: var(--faster); }
.interval.faster circle { fill: var(--faster); }
.interval.slower .reach { stroke: var(--slower); }
.interval.slower circle { fill: var(--slower); }

.cell { padding: 1.75rem 0; border-top: 1px solid var(--line); }
.row { margin-bottom: 2rem; break-inside: avoid; }
.row:target h4 { color: var(--ours-text); }
figure { margin: 0; min-width: 0; }
.sides { display: grid; grid-template-columns: minmax(0, 53rem) minmax(0, 1fr); gap: 0 2.5rem; }
.upshot p { margin: 0 0 0.75rem; font-size: 0.875rem; line-height: 1.4; }
.upshot strong { display: block; font-size: 1.75rem; line-height: 1.1; font-weight: 600; letter-spacing: -0.02em; }
.upshot .range { display: block; }
figure svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
.dots { fill: none; stroke-linecap: round; }
.dots.many { stroke-width: 3; opacity: 0.35; }
.dots.few { stroke-width: 4.5; opacity: 0.65; }
.dots.ours { stroke: var(--ours); }
.dots.peer { stroke: var(--peer); }
.dots.floor { stroke: var(--floor); }
.failures, .notes { margin: 0.75rem 0; padding: 0; list-style: none; font-size: 0.8125rem; color: var(--quiet); }
.notes span { color: var(--ink); }
.failures strong { color: var(--slower); font-weight: 500; }
.conditions { margin: 0; color: var(--quiet); font-size: 0.8125rem; line-height: 2; }
summary { cursor: pointer; padding: 0.375rem 0; color: var(--quiet); font-size: 0.875rem; width: fit-content; }
.fold { border-top: 1px solid var(--line); }
.fold > summary { width: auto; padding: 0.375rem 0; color: var(--ink); }
.fold[open] > summary { font-weight: 600; }
.fold[open] { padding-bottom: 1.5rem; }
.headline { margin: 1.5rem 0; }
figcaption { margin-bottom: 0.5rem; color: var(--quiet); font-size: 0.875rem; }
.missing { margin: 0.75rem 0 0; padding: 0.5rem 0.75rem; background: var(--shade); border-left: 3px solid var(--floor); font-size: 0.875rem; }
.data { margin: 0; padding-top: 0.75rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: 0.875rem; }
.doubt { display: block; max-width: 16rem; font-size: 0.75rem; white-space: normal; }
summary:hover { color: var(--ink); }
.machine { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0.75rem 2rem; margin: 0.75rem 0 0; font-size: 0.9375rem; }
dt { color: var(--quiet); font-size: 0.8125rem; }
dd { margin: 0; }

@media (max-width: 72rem) {
  .overview.two { grid-template-columns: minmax(0, 1fr); }
  .overview.three { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  td .interval { display: none; }
  .peer-column .range { display: block; }
  .sides { grid-template-columns: 1fr; }
  .upshot { display: flex; flex-wrap: wrap; gap: 0 2rem; margin-top: 0.75rem; }
  .upshot strong { display: inline; font-size: 1.125rem; }
}
@media screen and (max-width: 46rem) {
  .masthead, main { padding-left: 1rem; padding-right: 1rem; }
  .overview.three, .overview.two li { grid-template-columns: minmax(0, 1fr); }
  .eyebrow { margin-top: 2.5rem; }
  .wide { display: none; }
  .narrow { display: block; }
  .machine { grid-template-columns: 1fr; }
  table, caption, tbody, tr, tbody th, td { display: block; }
  thead { display: none; }
  tr { padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
  tbody th, td, .document th, .document td { border: 0; padding: 0.1rem 0; }
  tbody th { font-size: 0.9375rem; padding-bottom: 0.25rem; }
  td { display: flex; flex-wrap: wrap; justify-content: flex-end; align-items: baseline; gap: 0 0.4rem; white-space: normal; }
  td .processor-time { order: -1; }
  td[data-label]::before { order: -2; }
  td[data-label]::before { content: attr(data-label); margin-right: auto; color: var(--quiet); font-weight: 400; }
  td.absent:not([colspan]), td:empty, td.nothing { display: none; }
}
@media print {
  :root {${light} }
  html { font-size: 11px; }
  .masthead, main { padding: 0; }
  .document { font-size: 8px; }
  .document .version { display: block; }
  h2, h3, h4 { break-after: avoid; }
  tr, .sides, .overview li { break-inside: avoid; }
  .scroll { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; }
  details:not(.fold) > summary { display: none; }
  a { text-decoration: none; }
}
`;
