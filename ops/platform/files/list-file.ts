/**
 * The entries of a list, with their lines counted from 1: white space around an entry is dropped. A `#` at the start of a line,
 * or after white space, begins a comment.
 */
export const parseList = (text: string) =>
  text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((line, index) => ({ text: line.replace(/(^|\s)#.*$/, '').trim(), line: index + 1 }))
    .filter((entry) => entry.text !== '');
