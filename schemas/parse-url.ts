/**
 * A text as a URL; `null` where it is none. Not by `URL.canParse`: in Node 20, once it is optimised, it refuses
 * texts with Latin-1 letters (`http://ü.example/`).
 */
export const parseUrl = (text: string): URL | null => {
  try {
    return new URL(text);
  } catch {
    return null;
  }
};
