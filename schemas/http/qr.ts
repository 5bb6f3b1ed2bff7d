import { z } from 'zod';

const sizeMessage = 'size must be between 100 and 1000';
const marginMessage = 'margin must be between 0 and 10';

const wholeNumber = (low: number, high: number, message: string) =>
  z
    .string({ error: message })
    .regex(/^\d{1,4}$/, message)
    .transform(Number)
    .refine((value) => value >= low && value <= high, message);

/** `#` is optional: in a query it would have to be percent-encoded. */
const colour = (name: string) => {
  const message = `${name} must be a hex colour, such as ff8800`;
  return z
    .string({ error: message })
    .regex(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i, message)
    .transform((text) => `#${text.replace('#', '')}`);
};

/** The query of GET /v2/qr/:shortCode. `size` in pixels, `margin` in modules. */
export const qrQuery = z.object({
  format: z.enum(['png', 'svg'], { error: 'format must be either png or svg' }).default('png'),
  size: wholeNumber(100, 1_000, sizeMessage).default(300),
  margin: wholeNumber(0, 10, marginMessage).default(4),
  ecc: z.enum(['L', 'M', 'Q', 'H'], { error: 'ecc must be one of L, M, Q, H' }).default('M'),
  dark: colour('dark').default('#000000'),
  light: colour('light').default('#ffffff'),
});
export type QrQuery = z.output<typeof qrQuery>;
