/** Returns the entries of a list, trimmed, with their line numbers from 1. A `#` after white space starts a comment. */
export const parseList = (text: string) =>
  text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((line, index) => ({ text: line.replace(/(^|\s)#.*$/, '').trim(), line: index + 1 }))
    .filter((entry) => entry.text !== '');
