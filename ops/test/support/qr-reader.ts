import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pLimit from 'p-limit';

const run = promisify(execFile);

export interface QrImage {
  readonly format: 'png' | 'svg';
  readonly bytes: Buffer;
}

/** Writes a PNG file, because zbarimg does not read SVG; transparent becomes white. */
const writePng = async (
  dir: string,
  index: number,
  { format, bytes }: QrImage,
): Promise<string> => {
  const png = path.join(dir, `${index}.png`);
  if (format === 'png') await writeFile(png, bytes);
  else {
    const svg = path.join(dir, `${index}.svg`);
    await writeFile(svg, bytes);
    await run('rsvg-convert', ['--background-color', 'white', '--output', png, svg]);
  }
  return png;
};

/** The XML report of zbarimg. */
const scan = async (files: readonly string[]): Promise<string> => {
  const args = ['--nodbus', '--quiet', '--xml', ...files];
  try {
    return (await run('zbarimg', args, { maxBuffer: 64 * 1_024 * 1_024 })).stdout;
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: string };
    // The exit code if an image has no QR code.
    if (code === 4 && stdout !== undefined) return stdout;
    throw error;
  }
};

/**
 * Reads QR codes with zbarimg and rsvg-convert, which must be installed.
 *
 * @returns the text of each image, or `null`
 */
export const readQrCodes = async (images: readonly QrImage[]): Promise<(string | null)[]> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-qr-'));
  try {
    const files = await pLimit(4).map(images, (image, index) => writePng(dir, index, image));
    const report = await scan(files);
    const sources = report.split("<source href='").slice(1);
    return files.map((file) => {
      const source = sources.find((part) => part.startsWith(`${file}'`));
      return /<!\[CDATA\[(.*?)\]\]>/s.exec(source ?? '')?.[1] ?? null;
    });
  } finally {
    await rm(dir, { recursive: true });
  }
};
