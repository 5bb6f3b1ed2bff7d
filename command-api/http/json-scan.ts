const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** The index of the closing quote, or the length of the text. @param start the index of the opening quote */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
};

const whiteSpace = /[ \t\r\n]*/y;

const isName = (text: string, end: number): boolean => {
  whiteSpace.lastIndex = end + 1;
  whiteSpace.test(text);
  return text.charCodeAt(whiteSpace.lastIndex) === colon;
};

/** Unescapes a name. The text may be invalid JSON. */
const unescaped = (name: string): string => {
  try {
    return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
  } catch {
    return name;
  }
};

/** The longest name to search for, if all its characters are escaped as `\u0000`. */
const maxNameLength = 100;

/**
 * Scans a JSON text without parsing it, which takes a fraction of the time of parsing deeply nested JSON. The result for
 * invalid JSON is undefined.
 *
 * @returns whether objects and arrays are nested more than `levels` deep (the scan ends there), and the first property
 * name, at any depth, that is in `names`
 */
export const scanJson = (
  text: string,
  levels: number,
  names: readonly string[],
): { readonly tooDeep: boolean; readonly found: string | null } => {
  let level = 0;
  let found: string | null = null;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = endOfString(text, at);
      if (found === null && end - at <= maxNameLength && isName(text, end)) {
        const name = unescaped(text.slice(at + 1, end));
        if (names.includes(name)) found = name;
      }
      at = end;
    } else if (code === openArray || code === openObject) {
      level += 1;
      if (level > levels) return { tooDeep: true, found };
    } else if (code === closeArray || code === closeObject) level -= 1;
  }
  return { tooDeep: false, found };
};
