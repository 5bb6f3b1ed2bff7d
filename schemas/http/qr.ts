import { z } from 'zod';
import { isReadable } from '../contrast.js';
import { wholeNumber } from './query.js';
import { call, routeGroup } from './route.js';

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

export const qrQuery = z
  .object({
    format: z
      .enum(['png', 'svg'], { error: 'format must be either png or svg' })
      .default('png')
      .describe('The file format of the image.'),
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

export const qrRoutes = routeGroup(
  { tag: 'Links', scope: 'qr:read' },
  {
    // This GET costs a QR code, in a transaction that does not need the log.
    getQrCode: call('GET /qr/:shortCode', 'Get the QR code of a short link', {
      description:
        'Contains the `shortUrl`. Costs one QR code of the month. `Accept: application/octet-stream` gets the same ' +
        'image with this type.',
      query: qrQuery,
      headers: {
        'If-None-Match':
          'The `ETag` of an image that the client has cached: 304 without a body if it is current.',
      },
      returns: {
        200: {
          description: 'The image.',
          schema: null,
          files: { 'image/png': {}, 'image/svg+xml': {}, 'application/octet-stream': {} },
          headers: ['ETag', 'Vary'],
        },
      },
      errors: [410],
    }),
  },
);
