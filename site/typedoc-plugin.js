/**
 * A plugin of TypeDoc, for what its Markdown theme does not do: name the error of `@throws {TypeError} …`, and keep
 * quiet about classes of the package that it does not export, from which others inherit.
 */
import { Converter } from 'typedoc';

/** Whether it is a type, or a member of one, of the package, that has no page. */
const isInside = (type) =>
  type.reflection === undefined && (type.package ?? 'pointsman') === 'pointsman';

/** After all plugins of TypeDoc itself, of which one finds out what is inherited. */
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
