import pLimit from 'p-limit';
import { sendRequest } from './http.js';

const linksOfBatch = 50;

/** Makes `count` links, a multiple of 50, to the destinations that `urlOf` gives by number. @returns their codes */
export const createLinks = async (
  api: string,
  key: string,
  count: number,
  urlOf: (index: number) => string,
): Promise<readonly string[]> => {
  const atOnce = pLimit(8);
  const makeBatch = async (first: number): Promise<readonly string[]> => {
    const urls = Array.from({ length: linksOfBatch }, (_, index) => ({
      url: urlOf(first + index),
    }));
    const headers = { Authorization: `Bearer ${key}` };
    const options = { method: 'POST', headers, body: { urls } };
    const answer = await sendRequest(`${api}/v2/shorten/batch`, options);
    if (answer.status !== 200) throw new Error(answer.text);
    const { results } = answer.json() as {
      readonly results: readonly { readonly shortCode: string }[];
    };
    return results.map(({ shortCode }) => shortCode);
  };
  const batches = Array.from({ length: count / linksOfBatch }, (_, batch) =>
    atOnce(() => makeBatch(batch * linksOfBatch)),
  );
  return (await Promise.all(batches)).flat();
};
