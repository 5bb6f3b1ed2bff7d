import { crc32, deflateSync } from 'node:zlib';
import { create } from 'qrcode';
import { parseColour, type Colour } from '../../../schemas/contrast.js';
import type { QrQuery } from '../../../schemas/http/qr.js';

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

/** One bit per pixel, a palette, no interlace. */
const header = (size: number): Buffer =>
  Buffer.concat([uint32(size), uint32(size), Buffer.from([1, 3, 0, 0, 0])]);

/** The PNG filter Up: each row is stored as its difference from the row above. */
const upFilter = 2;

/** Most rows repeat the row above and become zeros, so the largest image is compressed in 1 ms instead of 8. */
const filterRows = (rows: readonly Buffer[], width: number): Buffer => {
  const filtered = Buffer.alloc(rows.length * (width + 1));
  let above: Buffer = Buffer.alloc(width);
  for (const [y, row] of rows.entries()) {
    const start = y * (width + 1);
    filtered.writeUInt8(upFilter, start);
    if (row !== above) {
      for (const [x, byte] of row.entries()) {
        filtered.writeUInt8((byte - above.readUInt8(x)) & 0xff, start + 1 + x);
      }
    }
    above = row;
  }
  return filtered;
};

/** zlib, 0 to 9. Higher levels need several times as long and save a few hundred bytes. */
const compressionLevel = 3;

/**
 * A square PNG of two colours with one bit per pixel; general encoders use 32.
 *
 * @param palette the colours of bits 0 and 1
 * @param rows from the top, each of `size` bits, padded to whole bytes
 */
const encodePng = (
  size: number,
  palette: readonly [Colour, Colour],
  rows: readonly Buffer[],
): Buffer =>
  Buffer.concat([
    signature,
    chunk('IHDR', header(size)),
    chunk('PLTE', Buffer.from(palette.flatMap(({ red, green, blue }) => [red, green, blue]))),
    chunk('tRNS', Buffer.from(palette.map(({ alpha }) => alpha))),
    chunk('IDAT', deflateSync(filterRows(rows, Math.ceil(size / 8)), { level: compressionLevel })),
    chunk('IEND', Buffer.alloc(0)),
  ]);

/** The layout of a QR code in its image, in pixels. */
interface QrLayout {
  readonly size: number;
  readonly modules: number;
  /** The width of a module. */
  readonly scale: number;
  /** The offset of the code from the left and the top. */
  readonly start: number;
}

/**
 * All modules have the same whole number of pixels, because readers fail on unequal widths. The quiet zone has the
 * remaining pixels: at least `margin` modules, or fewer if the image is too small.
 */
export const layOut = (size: number, modules: number, margin: number): QrLayout => {
  const scale = Math.max(1, Math.floor(size / (modules + 2 * margin)));
  const start = Math.floor((size - modules * scale) / 2);
  // zbar does not find modules of one pixel that start at an even pixel.
  const shift = scale === 1 && start % 2 === 0 && start + modules < size ? 1 : 0;
  return { size, modules, scale, start: start + shift };
};

/** Whether a module is dark; `false` outside the code. */
type IsDark = (column: number, row: number) => boolean;

const png = (layout: QrLayout, isDark: IsDark, light: Colour, dark: Colour): Buffer => {
  const { size, modules, scale, start } = layout;
  const blank = Buffer.alloc(Math.ceil(size / 8));
  const lines = Array.from({ length: modules }, (_, row) => {
    const line = Buffer.from(blank);
    for (let column = 0; column < modules; column += 1) {
      if (!isDark(column, row)) continue;
      const left = start + column * scale;
      for (let x = left; x < left + scale; x += 1) {
        line.writeUInt8(line.readUInt8(x >> 3) | (0x80 >> (x & 7)), x >> 3);
      }
    }
    return line;
  });
  const rows = Array.from(
    { length: size },
    (_, y) => lines[Math.floor((y - start) / scale)] ?? blank,
  );
  return encodePng(size, [light, dark], rows);
};

const fill = ({ red, green, blue, alpha }: Colour): string => {
  const hex = Buffer.from([red, green, blue]).toString('hex');
  return `fill="#${hex}"${alpha < 255 ? ` fill-opacity="${(alpha / 255).toFixed(3)}"` : ''}`;
};

/** An SVG path with one rectangle for each run of dark modules in a row. */
const runs = (modules: number, isDark: IsDark): string => {
  let path = '';
  for (let row = 0; row < modules; row += 1) {
    for (let column = 0; column < modules; column += 1) {
      if (!isDark(column, row)) continue;
      const from = column;
      while (isDark(column, row)) column += 1;
      path += `M${from} ${row}h${column - from}v1h-${column - from}z`;
    }
  }
  return path;
};

const svg = (layout: QrLayout, isDark: IsDark, light: Colour, dark: Colour): string => {
  const { size, modules, scale, start } = layout;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"` +
    ` viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">` +
    `<path ${fill(light)} d="M0 0h${size}v${size}H0z"/>` +
    `<path ${fill(dark)} transform="translate(${start} ${start}) scale(${scale})"` +
    ` d="${runs(modules, isDark)}"/></svg>\n`
  );
};

/** The modules of a QR code. */
interface QrModules {
  /** The number of modules per side: 21 to 177. */
  readonly size: number;
  /** Row by row; 1 is dark. */
  readonly data: ArrayLike<number>;
}

type ErrorCorrection = QrQuery['ecc'];

/** The bytes in a code of 177 modules by its level of error correction, highest level first (ISO/IEC 18004). */
const capacities: readonly (readonly [level: ErrorCorrection, bytes: number])[] = [
  ['H', 1_273],
  ['Q', 1_663],
  ['M', 2_331],
  ['L', 2_953],
];

/**
 * Encodes a URL with the requested error correction, or with less if the URL is too long for it. The longest short URL
 * has 2,545 characters.
 */
export const encodeQr = (url: string, requested: ErrorCorrection): QrModules => {
  const first = capacities.findIndex(([level]) => level === requested);
  const [level = requested] =
    capacities.slice(first).find(([, bytes]) => url.length <= bytes) ?? [];
  return create(url, { errorCorrectionLevel: level }).modules;
};

/** Renders a QR code: SVG as text, PNG as bytes. */
export const renderQr = ({ size: modules, data }: QrModules, query: QrQuery): Buffer | string => {
  const isDark: IsDark = (column, row) =>
    column >= 0 && column < modules && row >= 0 && data[row * modules + column] === 1;
  const draw = query.format === 'png' ? png : svg;
  const layout = layOut(query.size, modules, query.margin);
  return draw(layout, isDark, parseColour(query.light), parseColour(query.dark));
};
