/** A server that speaks the REST API of Shlink, for tests. */
import {
  startApiServer,
  type ApiReply,
  type ApiRequest,
  type ApiResponse,
  type ApiServer,
} from './api-server.js';

export interface ShlinkLink {
  readonly shortCode: string;
  readonly domain: string | null;
  readonly visits: readonly object[];
  readonly rules: readonly object[];
}

export interface ShlinkState {
  links: readonly ShlinkLink[];
  /** A reply in place of the usual one. It can change the links before. */
  intercept: (request: ApiRequest) => ApiReply | undefined;
}

const key = 'the-key';

/** Shlink's paginator fails for a page beyond the end. */
const pageOf = (items: readonly object[], { searchParams }: URL): object | null => {
  const page = Number(searchParams.get('page') ?? 1);
  const size = Number(searchParams.get('itemsPerPage') ?? 10);
  const pagesCount = Math.max(1, Math.ceil(items.length / size));
  if (page < 1 || page > pagesCount) return null;
  const data = items.slice((page - 1) * size, page * size);
  const itemsInCurrentPage = data.length;
  const totalItems = items.length;
  const pagination = { currentPage: page, pagesCount, itemsPerPage: size };
  return { data, pagination: { ...pagination, itemsInCurrentPage, totalItems } };
};

const problem = (status: number, title: string): ApiResponse => ({
  ...{ status, headers: { 'Content-Type': 'application/problem+json' } },
  body: { type: 'about:blank', title, status },
});

const listed = ({ shortCode, domain, visits, rules }: ShlinkLink): object => ({
  ...{ shortCode, domain, shortUrl: `https://${domain ?? 's.test'}/${shortCode}` },
  ...{ longUrl: `https://example.org/${shortCode}`, dateCreated: '2024-08-15T15:03:56-04:00' },
  ...{ tags: [], title: null, crawlable: false, forwardQuery: true },
  meta: { validSince: null, validUntil: null, maxVisits: null },
  visitsSummary: { total: visits.length, nonBots: visits.length, bots: 0 },
  hasRedirectRules: rules.length > 0,
});

const byCode = (a: ShlinkLink, b: ShlinkLink): number => (a.shortCode < b.shortCode ? -1 : 1);

const usualReply = (links: readonly ShlinkLink[], url: URL): ApiResponse => {
  if (url.pathname === '/rest/v3/short-urls') {
    if (url.searchParams.get('orderBy') !== 'shortCode-ASC') return problem(400, 'Invalid order');
    const page = pageOf([...links].sort(byCode).map(listed), url);
    return page ? { body: { shortUrls: page } } : problem(500, 'Unexpected error');
  }
  const [, code = '', call] = /^\/rest\/v3\/short-urls\/(.+)\/([a-z-]+)$/.exec(url.pathname) ?? [];
  const link = links.find(
    ({ shortCode, domain }) =>
      shortCode === decodeURIComponent(code) && domain === url.searchParams.get('domain'),
  );
  if (!link) return problem(404, 'Short URL not found');
  if (call === 'redirect-rules') return { body: { redirectRules: link.rules } };
  const page = pageOf(link.visits, url);
  return page ? { body: { visits: page } } : problem(500, 'Unexpected error');
};

export const startShlink = async (): Promise<{ state: ShlinkState; server: ApiServer }> => {
  const state: ShlinkState = { links: [], intercept: () => undefined };
  const server = await startApiServer((request) => {
    if (request.headers['x-api-key'] !== key) return problem(401, 'Invalid API key');
    return state.intercept(request) ?? usualReply(state.links, request.url);
  });
  return { state, server };
};
