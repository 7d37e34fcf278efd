/** @param {string} text */
export const longest = (text) =>
  text.split(' ').reduce((best, word) => (word.length > best.length ? word : best));
