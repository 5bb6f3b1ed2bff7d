import { fileURLToPath } from 'node:url';
import { seededRandom, type Random } from '../chaos/random.js';
import { sendRequest, concurrently } from '../support/http.js';
import { startProduct, type Product } from '../support/product.js';
import { readQrCodes, type QrImage } from '../support/qr-reader.js';

/** Its links make large codes, whose modules are small. */
export const longHost = 'https://links.a-long-company-name.example.com';

/** What an image may look like; the colours are dark on light, for other pairs are hard to read. */
export const choices = {
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

const everyLook = (): Look[] =>
  choices.format.flatMap((format) =>
    choices.size.flatMap((size) =>
      choices.ecc.flatMap((ecc) =>
        choices.margin.flatMap((margin) =>
          choices.colours.map((colours) => ({ format, size, ecc, margin, colours })),
        ),
      ),
    ),
  );

const shuffle = <Value>(values: readonly Value[], random: Random): Value[] =>
  values
    .map((value) => ({ value, place: random.between(0, 1) }))
    .sort((a, b) => a.place - b.place)
    .map(({ value }) => value);

export const sampleLooks = (count: number, random: Random): Look[] =>
  shuffle(everyLook(), random).slice(0, count);

interface CodedLink {
  readonly shortUrl: string;
  readonly shortCode: string;
}

const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Links with aliases of every length; the shortest that the reserved list surely lets through is 8. */
export const randomLinks = async (
  product: Product,
  count: number,
  random: Random,
): Promise<CodedLink[]> => {
  const { key } = await product.createKey({ plan: 'PRO' });
  return concurrently(count, async (index) => {
    const length = 8 + (index % 43);
    const alias = Array.from({ length }, () => characters[random.below(64)]).join('');
    const answer = await sendRequest(`${product.api}/v2/shorten`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url: 'https://example.com/', alias },
    });
    if (answer.status !== 201) throw new Error(`No link ${alias}: ${answer.text}`);
    return answer.json() as CodedLink;
  });
};

/** Width and height, as the image itself says. */
const dimensions = ({ format, bytes }: QrImage): string =>
  format === 'png'
    ? `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
    : (/^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(bytes.toString())?.slice(1).join('x') ?? '');

const image = async (product: Product, key: string, link: CodedLink, look: Look) => {
  const { format, size, ecc, margin, colours } = look;
  const numbers = { size: String(size), margin: String(margin) };
  const query = new URLSearchParams({ format, ecc, ...numbers, ...colours }).toString();
  const answer = await sendRequest(`${product.api}/v2/qr/${link.shortCode}?${query}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  if (answer.status !== 200) throw new Error(`No image for ${query}: ${answer.text}`);
  const { shortUrl } = link;
  return { what: `${shortUrl} as ${query}`, shortUrl, size, format, bytes: answer.bytes };
};

/** Requests, and files for one reader. */
const atATime = 50;

/**
 * Asks for an image of each look, with the links in turn, and reads them back.
 *
 * @returns a line for each image that has another size than asked, or is not read as its short URL
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
  for (let first = 0; first < pairs.length; first += atATime) {
    const some = pairs.slice(first, first + atATime);
    const images = await Promise.all(some.map(({ link, look }) => image(product, key, link, look)));
    const texts = await readQrCodes(images);
    for (const [index, { what, shortUrl, size, ...drawn }] of images.entries()) {
      const text = texts[index] ?? null;
      const is = dimensions(drawn);
      if (text !== shortUrl) wrong.push(`${what} is read as ${String(text)}`);
      if (is !== `${size}x${size}`) wrong.push(`${what} has ${is} pixels`);
    }
  }
  return wrong;
};

/** For one key, which is handed no more than 3,000 in a month. */
const batch = 2_000;

/** The long form, every look of every link in turn: `node dist/ops/test/bench/qr-codes.js [ROUNDS [SEED]]`. */
const run = async (rounds: number, seed: number): Promise<void> => {
  const random = seededRandom(seed);
  const product = await startProduct({ env: { SHORT_URL_HOST: longHost } });
  try {
    const links = await randomLinks(product, 100, random);
    const wrong: string[] = [];
    let read = 0;
    for (let round = 0; round < rounds; round += 1) {
      const looks = shuffle(everyLook(), random);
      for (let first = 0; first < looks.length; first += batch) {
        const some = looks.slice(first, first + batch);
        wrong.push(...(await findMisread(product, links, some)));
        read += some.length;
      }
    }
    process.stdout.write(`${JSON.stringify({ seed, read, misread: wrong.length, wrong })}\n`);
    if (wrong.length > 0) process.exitCode = 1;
    await product.stop();
  } finally {
    await product.cleanup();
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(Number(process.argv[2] ?? 1), Number(process.argv[3] ?? Date.now() % 1_000_000));
}
