import pLimit from 'p-limit';
import { sendRequest } from './http.js';

interface CreatedLink {
  readonly shortUrl: string;
  readonly shortCode: string;
}

const batchSize = 50;
const parallelBatches = 8;

const post = async <Body>(
  url: string,
  key: string,
  status: number,
  body: object,
): Promise<Body> => {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await sendRequest(url, { method: 'POST', headers, body });
  if (response.status !== status) throw new Error(`${url}: ${response.status} ${response.text}`);
  return response.json() as Body;
};

export const createLink = (api: string, key: string, fields: object = {}): Promise<CreatedLink> =>
  post(`${api}/v2/shorten`, key, 201, { url: 'https://example.com/', ...fields });

/** Creates `count` links (a multiple of 50) to the destinations of `urlOf`, with more fields. @returns their codes */
export const createLinks = async (
  api: string,
  key: string,
  count: number,
  urlOf: (index: number) => string,
  fields: object = {},
): Promise<readonly string[]> => {
  const createBatch = async (batch: number): Promise<readonly string[]> => {
    const urls = Array.from({ length: batchSize }, (_, index) => ({
      url: urlOf(batch * batchSize + index),
      ...fields,
    }));
    const { results } = await post<{ readonly results: readonly CreatedLink[] }>(
      ...([`${api}/v2/shorten/batch`, key, 200, { urls }] as const),
    );
    return results.map(({ shortCode }) => shortCode);
  };
  const batches = Array.from({ length: count / batchSize }, (_, batch) => batch);
  return (await pLimit(parallelBatches).map(batches, createBatch)).flat();
};
