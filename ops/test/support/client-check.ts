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

/** The codes of all links, by destination. */
export const exportCodes = async (
  client: Linklog,
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const codes = new Map<string, readonly string[]>();
  for await (const { code, url } of client.links.export()) {
    codes.set(url, [...(codes.get(url) ?? []), code]);
  }
  return codes;
};

/** The destinations of returned links that do not exist, and those with two links. */
export const linkFaults = (
  returned: ReadonlyMap<string, string>,
  existing: ReadonlyMap<string, readonly string[]>,
): readonly string[] => [
  ...[...returned]
    .filter(([url, code]) => existing.get(url)?.includes(code) !== true)
    .map(([url, code]) => `${code} to ${url} does not exist`),
  ...[...existing]
    .filter(([, codes]) => codes.length > 1)
    .map(([url, codes]) => `${url} has ${codes.join(' and ')}`),
];

/** Checks the events of a stream: each arrives once, those of a subject in their order. */
export class EventCheck {
  /** Source and id of the events. */
  readonly received = new Set<string>();
  readonly faults: string[] = [];
  readonly #sequences = new Map<string, string>();

  add({ id, source, subject, sequence }: CloudEvent): void {
    const event = `${source} ${id}`;
    if (this.received.has(event)) this.faults.push(`a repeat: ${event}`);
    this.received.add(event);
    const origin = `${source} ${subject}`;
    const before = this.#sequences.get(origin) ?? '';
    if (sequence <= before) this.faults.push(`${origin}: ${sequence} comes after ${before}`);
    this.#sequences.set(origin, sequence);
  }
}
