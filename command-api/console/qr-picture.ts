/** Pictures of QR codes: a sample for the preview, and a logo in the middle. */
import { isReadable } from '../../schemas/contrast.js';

export { isReadable };

/** The maximum of a logo, in bytes. */
const maxLogoBytes = 1_000_000;

const logoTypes: readonly string[] = ['image/png', 'image/svg+xml'];

/** Why a file cannot be a logo; `null`: it can, if it is an image. */
export const logoFaultOf = (file: {
  readonly type: string;
  readonly size: number;
}): 'type' | 'size' | null => {
  if (!logoTypes.includes(file.type)) return 'type';
  return file.size > maxLogoBytes ? 'size' : null;
};

/** The side of a logo with its background, as a share of the modules. The highest error correction restores 30%. */
const logoShare = 0.2;
/** The part of this side that the logo itself has. */
const logoInside = 0.9;

interface Square {
  readonly start: number;
  readonly side: number;
}

/** Where a logo and its background are. @param modules on a side, without the margin */
export const logoSquares = (
  modules: number,
  margin: number,
): { readonly background: Square; readonly logo: Square } => {
  const squareOf = (side: number): Square => ({ start: margin + (modules - side) / 2, side });
  return {
    background: squareOf(modules * logoShare),
    logo: squareOf(modules * logoShare * logoInside),
  };
};

const attributesOf = ({ start, side }: Square): string => {
  const [at, length] = [start, side].map((value) => value.toFixed(3));
  return `x="${at}" y="${at}" width="${length}" height="${length}"`;
};

/**
 * Adds a logo to the SVG of a QR code. As an image of its own, a logo in SVG runs no scripts and loads nothing.
 *
 * @param svg with `viewBox="0 0 N N"`, in modules
 * @param logo a `data:` URL in base64
 */
export const withLogo = (
  svg: string,
  logo: string,
  { light, margin }: { readonly light: string; readonly margin: number },
): string => {
  const width = Number(/viewBox="0 0 (\d+) \d+"/.exec(svg)?.[1]);
  const { background, logo: inside } = logoSquares(width - 2 * margin, margin);
  const added =
    `<rect ${attributesOf(background)} fill="${light}"/>` +
    `<image ${attributesOf(inside)} href="${logo}"/>`;
  return svg.replace(/<\/svg>\s*$/, `${added}</svg>\n`);
};

/** The modules on a side of the sample, as of a QR code for 26 characters. */
export const sampleSize = 25;

const finders = [
  [0, 0],
  [sampleSize - 7, 0],
  [0, sampleSize - 7],
] as const;

/** Whether a module of the sample is dark. Its finder patterns are real, its data is arbitrary. */
export const isDarkInSample = (x: number, y: number): boolean => {
  for (const [left, top] of finders) {
    const [column, row] = [x - left, y - top];
    if (column < -1 || row < -1 || column > 7 || row > 7) continue;
    const ring = Math.max(Math.abs(column - 3), Math.abs(row - 3));
    return ring === 3 || ring <= 1;
  }
  return ((x * 7 + y * 13 + x * y * 5) % 11) % 2 === 0;
};
