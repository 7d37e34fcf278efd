/**
 * A TypeDoc plugin that adds to the Markdown theme: it shows the error of `@throws {TypeError} …`, and hides unexported
 * base classes of the package.
 */
import { Converter } from 'typedoc';

/** Whether `type` belongs to the package and has no page. */
const isInside = (type) =>
  type.reflection === undefined && (type.package ?? 'pointsman') === 'pointsman';

/** Runs after TypeDoc's own plugins, one of which resolves inheritance. */
const last = -10_000;

export function load(app) {
  const finish = ({ project }) => {
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
  };
  app.converter.on(Converter.EVENT_RESOLVE_END, finish, last);
}
