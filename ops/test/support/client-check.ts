import { expect } from 'chai';
import pLimit from 'p-limit';
import { LinklogError, type CloudEvent, type Linklog } from '../../clients/typescript/src/index.js';

/** Creates links at the same time. @returns the codes by destination; calls that failed are absent */
export const createThrough = async (
  client: Linklog,
  count: number,
  concurrency: number,
): Promise<ReadonlyMap<string, string>> => {
  const codes = new Map<string, string>();
  const urls = Array.from({ length: count }, (_, index) => `https://example.com/created/${index}`);
  await pLimit(concurrency).map(urls, async (url) => {
    try {
      codes.set(url, (await client.links.create({ url })).shortCode);
    } catch (error) {
      // A refusal would be an error of the client: each call has its own key and body.
      if (error instanceof LinklogError && ![409, 503].includes(error.status)) throw error;
    }
  });
  return codes;
};

/** Expects that each returned link exists, and no destination has a second one. */
export const expectEachOnce = async (
  client: Linklog,
  returned: ReadonlyMap<string, string>,
): Promise<void> => {
  const existing = new Map<string, string>();
  for await (const { code, url } of client.links.export()) {
    expect(existing.get(url), `a second link to ${url}: ${code}`).to.equal(undefined);
    existing.set(url, code);
  }
  for (const [url, code] of returned) expect(existing.get(url), url).to.equal(code);
};

/** Reads events up to a number, and expects each once, those of a subject in their order. */
export const readEvents = async (
  stream: AsyncIterable<CloudEvent>,
  count: number,
): Promise<void> => {
  const seen = new Set<string>();
  const sequences = new Map<string, string>();
  for await (const { id, source, subject, sequence } of stream) {
    const key = `${source} ${id}`;
    expect(seen.has(key), `a repeat: ${key}`).to.equal(false);
    seen.add(key);
    const origin = `${source} ${subject}`;
    expect(sequence > (sequences.get(origin) ?? ''), `the order of ${origin}`).to.equal(true);
    sequences.set(origin, sequence);
    if (seen.size === count) return;
  }
};
