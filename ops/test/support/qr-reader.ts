import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Of rsvg-convert, at once. */
const processes = 4;

export interface QrImage {
  readonly format: 'png' | 'svg';
  readonly bytes: Buffer;
}

/** As PNG files, since zbarimg reads no SVG; a transparent ground is that of a white page. */
const place = async (dir: string, index: number, { format, bytes }: QrImage): Promise<string> => {
  const png = path.join(dir, `${index}.png`);
  if (format === 'png') await writeFile(png, bytes);
  else {
    const svg = path.join(dir, `${index}.svg`);
    await writeFile(svg, bytes);
    await run('rsvg-convert', ['--background-color', 'white', '--output', png, svg]);
  }
  return png;
};

/** zbarimg's report on all the files, as XML. */
const scan = async (files: readonly string[]): Promise<string> => {
  const args = ['--nodbus', '--quiet', '--xml', ...files];
  try {
    return (await run('zbarimg', args, { maxBuffer: 64 * 1_024 * 1_024 })).stdout;
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: string };
    // Its exit code when an image has no code.
    if (code === 4 && stdout !== undefined) return stdout;
    throw error;
  }
};

/**
 * What readers of others, zbarimg and rsvg-convert, see in images: a text for each, `null` where there
 * is none. A machine without the programs fails the test.
 */
export const readQrCodes = async (images: readonly QrImage[]): Promise<(string | null)[]> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-qr-'));
  try {
    const files: string[] = [];
    for (let first = 0; first < images.length; first += processes) {
      const some = images.slice(first, first + processes);
      files.push(...(await Promise.all(some.map((image, at) => place(dir, first + at, image)))));
    }
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
