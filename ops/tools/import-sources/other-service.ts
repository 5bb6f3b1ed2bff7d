/** The URL shorteners whose API the command line reads: Shlink, and Kutt by its API v2. */
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { shlinkApi } from '../../../schemas/http/imports.js';
import { required } from '../cli/arguments.js';
import { CliError, messageOf } from '../cli/errors.js';
import { counted } from '../cli/output.js';
import { readPages } from './pages.js';
import { readShlink } from './shlink.js';
import { SourceApi } from './source-api.js';

export const sources = ['shlink', 'kutt'] as const;
export type Source = (typeof sources)[number];

/** The format in which the lines of a service are sent. */
export const formatOfSource: Readonly<Record<Source, string>> = {
  shlink: shlinkApi,
  kutt: 'kutt-json',
};

/** Kutt returns at most 50. */
const kuttPageSize = 50;

/** Links of a page that the page before it has, too. Links made meanwhile are at the start of the list. */
const kuttOverlap = 10;

const kuttPage = z.object({
  total: z.int(),
  /** The service validates the other fields, so that one invalid link does not end the import. */
  data: z.array(z.looseObject({ id: z.string() })),
});

/** The lines of the format `kutt-json`: the links, newest first. */
export async function* readKutt(api: SourceApi): AsyncGenerator<string> {
  const links = readPages({
    readPage: async (index) => {
      const skip = index * (kuttPageSize - kuttOverlap);
      const query = { limit: String(kuttPageSize), skip: String(skip) };
      const { total, data } = await api.get('/api/v2/links', query, kuttPage);
      const isLast = data.length === 0 || skip + data.length >= total;
      return { items: data, total, isLast };
    },
    idOf: ({ id }) => id,
    overlaps: true,
  });
  for await (const link of links) yield `${JSON.stringify(link)}\n`;
}

const addressOf = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && url.username === '') return url;
  const example = 'such as https://s.example.com';
  throw new CliError(
    'USAGE',
    `${JSON.stringify(text)} is not the address of a service, ${example}`,
  );
};

/** The key is not an argument, because every user of the machine can read command lines. @throws CliError */
const readKey = async (file: string): Promise<string> => {
  let key: string;
  try {
    key = (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    const message = `the key cannot be read from ${file}: ${messageOf(cause)}`;
    throw new CliError('USAGE', message, { cause });
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new CliError('USAGE', `${file} has no key: a key is one line of visible characters`);
};

/** What is read from another service. */
export interface OtherService {
  readonly source: Source;
  readonly url: URL;
  readonly key: string;
  readonly visits: boolean;
}

export interface ServiceOptions {
  readonly url?: string;
  readonly keyFile?: string;
  readonly visits?: true;
}

/** @throws CliError */
export const otherServiceOf = async (
  source: Source,
  { url, keyFile, visits }: ServiceOptions,
): Promise<OtherService> => {
  const address = addressOf(required(url, '--url', 'import'));
  const file = required(keyFile, '--key-file', 'import');
  if (visits === true && source === 'kutt')
    throw new CliError('USAGE', 'the API of Kutt has no visits');
  return { source, url: address, key: await readKey(file), visits: visits === true };
};

export interface Reporting {
  readonly progress: { readonly show: (text: string) => void };
  readonly report: (notice: string) => void;
}

/**
 * Reads another service into a temporary file before the upload: reading can take hours with pauses, and an upload has
 * to be complete within 30 minutes.
 */
export const saveLines = async (
  { source, url, key, visits }: OtherService,
  file: string,
  { progress, report }: Reporting,
  signal: AbortSignal,
): Promise<void> => {
  const options = { url, signal, report };
  const lines =
    source === 'shlink'
      ? readShlink(
          new SourceApi({ ...options, service: 'Shlink', headers: { 'X-Api-Key': key } }),
          { visits },
        )
      : readKutt(new SourceApi({ ...options, service: 'Kutt', headers: { 'X-API-KEY': key } }));
  let records = 0;
  const counting = async function* (): AsyncGenerator<string> {
    for await (const line of lines) {
      records += 1;
      if (records % 100 === 0) progress.show(`${counted(records, 'record')} read from ${url.host}`);
      yield line;
    }
  };
  try {
    const target = createWriteStream(file, { mode: 0o600 });
    await pipeline(Readable.from(counting()), createGzip(), target, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  if (records === 0) throw new CliError('REFUSED', `${url.host} has no links`);
};
