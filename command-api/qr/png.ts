import { crc32, deflateSync } from 'node:zlib';

/** Each 0 to 255; `alpha` 255 is opaque. */
export interface Colour {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
  readonly alpha: number;
}

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([uint32(data.length), typed, uint32(crc32(typed))]);
};

/** One bit a pixel, a palette, no filter, no interlace. */
const header = (size: number): Buffer =>
  Buffer.concat([uint32(size), uint32(size), Buffer.from([1, 3, 0, 0, 0])]);

/** A filter comes before each row: none. */
const noFilter = Buffer.alloc(1);

/**
 * A square PNG of two colours: a bit a pixel, where a general encoder takes 32.
 *
 * @param palette of the bits that are 0, and of those that are 1
 * @param rows from the top, each of `size` bits, filled up to whole bytes
 */
export const encodePng = (
  size: number,
  palette: readonly [Colour, Colour],
  rows: readonly Buffer[],
): Buffer =>
  Buffer.concat([
    signature,
    chunk('IHDR', header(size)),
    chunk('PLTE', Buffer.from(palette.flatMap(({ red, green, blue }) => [red, green, blue]))),
    chunk('tRNS', Buffer.from(palette.map(({ alpha }) => alpha))),
    chunk('IDAT', deflateSync(Buffer.concat(rows.flatMap((row) => [noFilter, row])))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
