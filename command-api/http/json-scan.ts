const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** The index of the quote that ends a string, or the text's length. @param start of the string's quote */
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

/** A name without its escapes. In a text that is no JSON it may be anything. */
const unescaped = (name: string): string => {
  try {
    return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name;
  } catch {
    return name;
  }
};

/** In characters: the longest name that may be looked for, with all of them written as `\u0000`. */
const maxNameLength = 100;

/**
 * Reads a JSON text once, without parsing it. To parse what is nested deeply, and to walk through what was
 * parsed, costs many times as much. Of a text that is no JSON the result says nothing.
 *
 * @returns whether the text has more than `levels` objects and arrays within each other, where reading
 * ends, and the first of `names` that a property has, at any depth
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
