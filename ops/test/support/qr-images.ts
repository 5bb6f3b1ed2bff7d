import pLimit from 'p-limit';
import type { Random } from './random.js';
import { sendRequest, concurrently } from './http.js';
import { createLink } from './create-links.js';
import type { Product } from './product.js';
import { readQrCodes, type QrImage } from './qr-reader.js';

/** Parameters of an image. All colours are dark on light: zbarimg does not read other pairs reliably. */
const choices = {
  format: ['png', 'svg'],
  size: [100, 101, 110, 137, 200, 300, 517, 1_000],
  ecc: ['L', 'M', 'Q', 'H'],
  margin: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  colours: [
    { dark: '000', light: 'fff' },
    { dark: '003366', light: 'ffffff' },
    { dark: '800000', light: 'ffffcc' },
    { dark: '00f', light: 'ff0' },
    { dark: 'e00', light: 'fff' },
    { dark: '060', light: 'cfc' },
    { dark: '777777', light: 'ffffff' },
    { dark: '1a1a1aff', light: 'e0ffe0ff' },
    { dark: '000000fe', light: 'fffffffe' },
    { dark: '000000b0', light: 'ffffff80' },
    { dark: '000', light: 'ffffff00' },
  ],
} as const;

export interface Look {
  readonly format: 'png' | 'svg';
  readonly size: number;
  readonly ecc: string;
  readonly margin: number;
  readonly colours: { readonly dark: string; readonly light: string };
}

const allLooks = (): Look[] =>
  choices.format.flatMap((format) =>
    choices.size.flatMap((size) =>
      choices.ecc.flatMap((ecc) =>
        choices.margin.flatMap((margin) =>
          choices.colours.map((colours) => ({ format, size, ecc, margin, colours })),
        ),
      ),
    ),
  );

/** Different looks, chosen at random. */
export const sampleLooks = (count: number, random: Random): Look[] => {
  const looks = allLooks();
  return Array.from({ length: count }, () => looks.splice(random.below(looks.length), 1)).flat();
};

type CodedLink = Awaited<ReturnType<typeof createLink>>;

const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Links with aliases of each length from 8 on: no reserved alias is as long. */
export const randomLinks = async (
  product: Product,
  count: number,
  random: Random,
): Promise<CodedLink[]> => {
  const { key } = await product.createKey({ plan: 'PRO' });
  return concurrently(count, async (index) => {
    const length = 8 + (index % 43);
    const alias = Array.from({ length }, () => characters[random.below(64)]).join('');
    return createLink(product.api, key, { alias });
  });
};

/** Width and height in the header of the image. */
const dimensions = ({ format, bytes }: QrImage): string =>
  format === 'png'
    ? `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
    : (/^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(bytes.toString())?.slice(1).join('x') ?? '');

const image = async (product: Product, key: string, link: CodedLink, look: Look) => {
  const { format, size, ecc, margin, colours } = look;
  const numbers = { size: String(size), margin: String(margin) };
  const query = new URLSearchParams({ format, ecc, ...numbers, ...colours }).toString();
  const response = await sendRequest(`${product.api}/v2/qr/${link.shortCode}?${query}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  if (response.status !== 200) throw new Error(`No image for ${query}: ${response.text}`);
  const { shortUrl } = link;
  return { what: `${shortUrl} as ${query}`, shortUrl, size, format, bytes: response.bytes };
};

/** Files for one run of the reader. */
const batchSize = 50;
/** Few enough that a busy machine does not respond with 503. */
const concurrentRequests = 8;

/**
 * Requests an image of each look, links round-robin, and reads them.
 *
 * @returns a line for each image with a wrong size, or with another text than the short URL
 */
export const findMisread = async (
  product: Product,
  links: readonly CodedLink[],
  looks: readonly Look[],
): Promise<string[]> => {
  const { key } = await product.createKey({ plan: 'PRO' });
  const pairs = looks.flatMap((look, index) => {
    const link = links[index % links.length];
    return link ? [{ link, look }] : [];
  });
  const wrong: string[] = [];
  for (let first = 0; first < pairs.length; first += batchSize) {
    const batch = pairs.slice(first, first + batchSize);
    const images = await pLimit(concurrentRequests).map(batch, ({ link, look }) =>
      image(product, key, link, look),
    );
    const texts = await readQrCodes(images);
    for (const [index, { what, shortUrl, size, ...drawn }] of images.entries()) {
      const text = texts[index] ?? null;
      const is = dimensions(drawn);
      if (text !== shortUrl) wrong.push(`${what} is read as ${String(text)}`);
      if (is !== `${size}x${size}`) wrong.push(`${what} is ${is} pixels`);
    }
  }
  return wrong;
};
