/**
 * Gives each cell of a table the text of its column's head, as `data-head`. On a phone style.css shows a row of a wide
 * table as a list, where each cell needs the name of its column.
 */
export function labelCells(md) {
  md.core.ruler.push('table-heads', ({ tokens }) => {
    let heads = [];
    let column = 0;
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'thead_open') heads = [];
      if (token.type === 'tr_open') column = 0;
      if (token.type === 'th_open') heads.push(textOf(tokens[index + 1]));
      if (token.type === 'td_open') token.attrSet('data-head', heads[column++]);
    }
  });
}

const textOf = ({ children }) => children.map(({ content }) => content).join('');
