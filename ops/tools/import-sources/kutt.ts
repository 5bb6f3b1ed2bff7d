/** Reads the links of a user of Kutt by its API v2. */
import { z } from 'zod';
import { readPages } from './pages.js';
import type { SourceApi } from './source-api.js';

/** Kutt returns at most 50. */
const pageSize = 50;

/** Links of a page that the page before it has, too. Links made meanwhile are at the start of the list. */
const overlap = 10;

const linkPage = z.object({
  total: z.int(),
  /** The service validates the other fields, so that one invalid link does not end the import. */
  data: z.array(z.looseObject({ id: z.string() })),
});

/** The lines of the format `kutt-json`: the links, newest first. */
export async function* readKutt(api: SourceApi): AsyncGenerator<string> {
  const links = readPages({
    readPage: async (index) => {
      const skip = index * (pageSize - overlap);
      const query = { limit: String(pageSize), skip: String(skip) };
      const { total, data } = await api.get('/api/v2/links', query, linkPage);
      const isLast = data.length === 0 || skip + data.length >= total;
      return { items: data, total, isLast };
    },
    idOf: ({ id }) => id,
    overlaps: true,
  });
  for await (const link of links) yield `${JSON.stringify(link)}\n`;
}
