/**
 * A plugin of TypeDoc: the pages name the error of `@throws {TypeError} …`, which the Markdown theme leaves out.
 */
import { Converter } from 'typedoc';

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const { comment } of Object.values(project.reflections)) {
      for (const tag of comment?.getTags('@throws') ?? []) {
        if (tag.typeAnnotation === undefined) continue;
        const type = tag.typeAnnotation.replace(/^\{|\}$/g, '');
        tag.content.unshift({ kind: 'code', text: `\`${type}\`` }, { kind: 'text', text: ' ' });
        delete tag.typeAnnotation;
      }
    }
  });
}
