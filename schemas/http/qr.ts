import { z } from 'zod';
import { wholeNumber } from './query.js';

const sizeMessage = 'size must be between 100 and 4000';
const marginMessage = 'margin must be between 0 and 10';

/** `#` is optional, because it must be percent-encoded in a query. */
const colour = (name: string) => {
  const message = `${name} must be a hex colour, such as ff8800`;
  return z
    .string({ error: message })
    .regex(/^#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$/, message)
    .overwrite((text) => `#${text.replace('#', '')}`);
};

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

const isReadable = (dark: string, light: string): boolean => {
  const [below, above] = [dark, light].map((hex) => luminanceOf(parseColour(hex)) + 0.05);
  return below !== undefined && above !== undefined && above >= leastContrast * below;
};

/** The query of GET /v2/qr/:shortCode. */
export const qrQuery = z
  .object({
    format: z.enum(['png', 'svg'], { error: 'format must be either png or svg' }).default('png'),
    size: wholeNumber(100, 4_000, sizeMessage).default(300).describe('Width and height in pixels.'),
    margin: wholeNumber(0, 10, marginMessage).default(4).describe('The quiet zone, in modules.'),
    ecc: z
      .enum(['L', 'M', 'Q', 'H'], { error: 'ecc must be one of L, M, Q, H' })
      .default('M')
      .describe('The level of error correction.'),
    dark: colour('dark')
      .default('#000000')
      .describe('A hex colour, darker than `light` (contrast 3:1). `#` is optional.'),
    light: colour('light').default('#ffffff').describe('A hex colour. `#` is optional.'),
    mark: z
      .literal('1', { error: 'mark must be 1' })
      .optional()
      .describe('The code contains `shortUrl?qr`: its visits have the trigger `qr`.'),
  })
  .refine(({ dark, light }) => isReadable(dark, light), 'dark must be clearly darker than light');
export type QrQuery = z.output<typeof qrQuery>;
