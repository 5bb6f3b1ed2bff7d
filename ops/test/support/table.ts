type Cell = string | number;

/** A Markdown table; columns with a number in the first row are right-aligned. */
export const markdownTable = (
  header: readonly Cell[],
  rows: readonly (readonly Cell[])[],
): string => {
  const line = (cells: readonly Cell[]): string => `| ${cells.join(' | ')} |\n`;
  const rule = header.map((_, column) => (typeof rows[0]?.[column] === 'number' ? '---:' : '---'));
  return [header, rule, ...rows].map(line).join('');
};
