/** Each 0 to 255; `alpha` 255 is opaque. */
export interface Colour {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
  readonly alpha: number;
}

/** `#` and 3, 6 or 8 hex digits. */
export const parseColour = (hex: string): Colour => {
  const digits = hex.slice(1);
  const long = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
  const [red = 0, green = 0, blue = 0, alpha = 255] = Buffer.from(long, 'hex');
  return { red, green, blue, alpha };
};
