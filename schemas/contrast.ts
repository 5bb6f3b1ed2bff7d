/** Contrast of the colours of QR codes. The console uses this module, so it must not import zod. */

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
  const channels = Array.from(long.matchAll(/../g), ([pair]) => parseInt(pair, 16));
  const [red = 0, green = 0, blue = 0, alpha = 255] = channels;
  return { red, green, blue, alpha };
};

/** The relative luminance of WCAG 2, 0 to 1, of a colour on white. */
const luminanceOf = ({ red, green, blue, alpha }: Colour): number => {
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((channel) => {
    const share = (channel * alpha + 255 * (255 - alpha)) / (255 * 255);
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

/** The minimum contrast ratio (WCAG 2) that readers need. */
const leastContrast = 3;

/** Whether `dark` is darker than `light`, with enough contrast. */
export const isReadable = (dark: string, light: string): boolean => {
  const [below, above] = [dark, light].map((hex) => luminanceOf(parseColour(hex)) + 0.05);
  return below !== undefined && above !== undefined && above >= leastContrast * below;
};
