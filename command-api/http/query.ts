/** The parameters of a query by name. A repeated parameter is an array. */
export type QueryParameters = Readonly<Record<string, string | readonly string[]>>;

/** `name` is `null` if the name itself is not UTF-8. */
type QueryRead =
  | { readonly type: 'read'; readonly parameters: QueryParameters }
  | { readonly type: 'notUtf8'; readonly name: string | null };

/** The limit of node:querystring. */
const maxParameters = 1_000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes a name or value; `null` if it is not UTF-8. `%` without two hex digits is literal. */
const decode = (text: string): string | null => {
  const bytes = text
    .replaceAll('+', ' ')
    .replace(/%([0-9A-Fa-f]{2})/g, (_escape, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    );
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return null;
  }
};

/** Parses the query of a request target. Unlike node:querystring, it does not replace invalid UTF-8. */
export const readQuery = (target: string): QueryRead => {
  const start = target.indexOf('?');
  const values = new Map<string, string[]>();
  const pairs = start === -1 ? [] : target.slice(start + 1).split('&', maxParameters);
  for (const pair of pairs) {
    if (pair === '') continue;
    const sign = pair.indexOf('=');
    const name = decode(sign === -1 ? pair : pair.slice(0, sign));
    const value = sign === -1 ? '' : decode(pair.slice(sign + 1));
    if (name === null || value === null) return { type: 'notUtf8', name };
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  const parameters = [...values].map(([name, [first = '', ...others]]) => [
    name,
    others.length === 0 ? first : [first, ...others],
  ]);
  return { type: 'read', parameters: Object.fromEntries(parameters) as QueryParameters };
};
