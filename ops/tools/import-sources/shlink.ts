/** Reads the links of a Shlink installation by its REST API v3, whose reference is `docs/swagger` of Shlink. */
import { z } from 'zod';
import { readShortUrl } from '../../../command-api/imports/formats/short-url.js';
import { readPages } from './pages.js';
import { SourceFailure, type SourceApi } from './source-api.js';

const linksPerPage = 100;
const visitsPerPage = 500;

const pagination = z.object({
  currentPage: z.int(),
  pagesCount: z.int(),
  totalItems: z.int(),
});

/** The service validates the other fields, so that one invalid link does not end the import. */
const shortUrl = z.looseObject({
  shortCode: z.string(),
  /** `null`: the default domain. */
  domain: z.string().nullish(),
  shortUrl: z.string().nullish(),
  /** Absent in earlier versions. */
  hasRedirectRules: z.boolean().nullish(),
  visitsSummary: z.looseObject({ total: z.int() }).nullish(),
  visitsCount: z.int().nullish(),
});
type ShortUrl = z.output<typeof shortUrl>;

const shortUrlPage = z.object({ shortUrls: z.object({ data: z.array(shortUrl), pagination }) });

const rulesResponse = z.object({ redirectRules: z.array(z.looseObject({})) });

/** What is imported of a visit: no city and no coordinates. */
const visit = z.object({
  date: z.unknown(),
  referer: z.unknown(),
  userAgent: z.unknown(),
  visitLocation: z.object({ countryCode: z.unknown() }).nullish().catch(null),
});

const visitPage = z.object({ visits: z.object({ data: z.array(visit), pagination }) });

const isNotFound = (error: unknown): boolean =>
  error instanceof SourceFailure && error.status === 404;

/** Codes can have slashes, which are not encoded: proxies reject `%2F`. */
const pathOf = ({ shortCode }: ShortUrl, call: string): string =>
  `/rest/v3/short-urls/${shortCode.split('/').map(encodeURIComponent).join('/')}/${call}`;

const queryOf = ({ domain }: ShortUrl) => ({ domain: domain ?? null });

/** Returns `undefined` if the link was deleted after it was listed. */
const readRules = async (
  api: SourceApi,
  link: ShortUrl,
): Promise<readonly object[] | null | undefined> => {
  if (link.hasRedirectRules === false) return null;
  try {
    return (await api.get(pathOf(link, 'redirect-rules'), queryOf(link), rulesResponse))
      .redirectRules;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // Earlier versions have no rules.
    return link.hasRedirectRules === true ? undefined : null;
  }
};

/** @param until later visits would shift the pages */
async function* readVisits(
  api: SourceApi,
  link: ShortUrl,
  until: string,
): AsyncGenerator<z.output<typeof visit>> {
  for (let page = 1; ; page += 1) {
    const query = {
      ...queryOf(link),
      page: String(page),
      itemsPerPage: String(visitsPerPage),
      endDate: until,
    };
    const { visits } = await api.get(pathOf(link, 'visits'), query, visitPage);
    yield* visits.data;
    if (visits.data.length === 0 || page >= visits.pagination.pagesCount) return;
  }
}

const readList = async (api: SourceApi, page: number) => {
  const query = {
    page: String(page),
    itemsPerPage: String(linksPerPage),
    // Links made in the same second have no order by their time.
    orderBy: 'shortCode-ASC',
  };
  return (await api.get('/rest/v3/short-urls', query, shortUrlPage)).shortUrls;
};

/** Shlink fails for a page beyond the end, which there is after links were deleted. */
const readListPage = async (api: SourceApi, page: number) => {
  try {
    return await readList(api, page);
  } catch (error) {
    if (page === 1 || !(error instanceof SourceFailure)) throw error;
    const first = await readList(api, 1);
    if (page <= first.pagination.pagesCount) throw error;
    return { data: [], pagination: { ...first.pagination, currentPage: page } };
  }
};

const readLinks = (api: SourceApi): AsyncGenerator<ShortUrl> =>
  readPages({
    readPage: async (index) => {
      const page = index + 1;
      const { data, pagination: position } = await readListPage(api, page);
      const isLast = data.length === 0 || page >= position.pagesCount;
      return { items: data, total: position.totalItems, isLast };
    },
    idOf: ({ shortCode, domain }) => JSON.stringify([shortCode, domain ?? null]),
    overlaps: false,
  });

const reportDeleted = (api: SourceApi, { shortCode }: ShortUrl): void => {
  api.report(`${JSON.stringify(shortCode)} was not found any more; it was probably deleted`);
};

const lineOf = (record: object): string => `${JSON.stringify(record)}\n`;

/** The lines of the format `shlink-api`: of each link of all domains and, after it, of its visits. */
export async function* readShlink(
  api: SourceApi,
  { visits }: { readonly visits: boolean },
): AsyncGenerator<string> {
  const startedAt = new Date().toISOString();
  for await (const link of readLinks(api)) {
    const rules = await readRules(api, link);
    if (rules === undefined) {
      reportDeleted(api, link);
      continue;
    }
    yield lineOf({ link, rules });
    const clicks = link.visitsSummary?.total ?? link.visitsCount ?? 0;
    if (!visits || clicks === 0) continue;
    const domain = link.domain ?? readShortUrl(link.shortUrl ?? '').domain;
    try {
      for await (const record of readVisits(api, link, startedAt)) {
        yield lineOf({ visit: record, shortCode: link.shortCode, domain });
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
      reportDeleted(api, link);
    }
  }
}
