/**
 * A TypeDoc plugin that adds to the Markdown theme: it shows the error of `@throws {TypeError} …`, hides unexported
 * base classes of the package, and says on the first page in one sentence what each exported name is for.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Converter, RendererEvent } from 'typedoc';
import { MarkdownPageEvent } from 'typedoc-plugin-markdown';

/** Whether `type` belongs to the package and has no page. */
const isInside = (type) =>
  type.reflection === undefined && (type.package ?? 'pointsman') === 'pointsman';

/** Runs after TypeDoc's own plugins, one of which resolves inheritance. */
const last = -10_000;

function finish({ project }) {
  for (const reflection of Object.values(project.reflections)) {
    for (const tag of reflection.comment?.getTags('@throws') ?? []) {
      if (tag.typeAnnotation === undefined) continue;
      const type = tag.typeAnnotation.replace(/^\{|\}$/g, '');
      tag.content.unshift({ kind: 'code', text: `\`${type}\`` }, { kind: 'text', text: ' ' });
      delete tag.typeAnnotation;
    }
    for (const relation of ['inheritedFrom', 'overwrites']) {
      if (reflection[relation] && isInside(reflection[relation])) delete reflection[relation];
    }
    if (reflection.extendedTypes?.every(isInside)) delete reflection.typeHierarchy;
  }
}

/** Shortens the descriptions in the tables of an index to their first sentence. */
function shorten(page) {
  if (!/(^|\/)index\.md$/.test(page.url)) return;
  page.contents = page.contents.replace(
    /^(\| \[[^|]*\) \| )(.*?[.])(?: [A-Z`[].*)? \|$/gm,
    (_, name, sentence) => `${name}${sentence} |`,
  );
}

/** Appends the names of each module to the first page. */
function listNames({ outputDirectory, project }) {
  const read = (name) => readFileSync(join(outputDirectory, name), 'utf8');
  const sections = project.children.map(({ name }) => {
    // Names that another entry has too are listed there.
    const [page] = read(`${name}/index.md`).split('\n## References');
    const names = page
      .slice(page.indexOf('\n## '))
      .replace(/^## /gm, '### ')
      // A link with a scheme, or to an anchor of its own page, stays.
      .replace(/\]\((?![a-z]+:|#)([^)]+)\)/g, (_, link) => `](${join(name, link)})`);
    return `## ${name}\n${names}`;
  });
  writeFileSync(join(outputDirectory, 'index.md'), `${read('index.md')}\n${sections.join('\n')}`);
}

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_END, finish, last);
  app.renderer.on(MarkdownPageEvent.END, shorten);
  app.renderer.on(RendererEvent.END, listNames, last);
}
