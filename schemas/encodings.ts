/** The encodings of import files, by their names in the Encoding Standard. */
const numbered = (name: string, numbers: readonly number[]): readonly string[] =>
  numbers.map((number) => `${name}-${number}`);

export const encodings: readonly string[] = [
  ...['utf-8', 'utf-16le', 'utf-16be'],
  ...numbered('windows', [1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258]),
  // ISO 8859-12 does not exist.
  ...numbered('iso-8859', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15]),
  ...['shift_jis', 'euc-jp', 'gb18030', 'big5', 'euc-kr', 'koi8-r', 'macintosh'],
];
