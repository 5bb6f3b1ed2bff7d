import * as linklog from './orval/api.js';
import { makeCalls } from './calls.js';

/** The generated functions call the global `fetch` with paths. */
const fetchUrl = globalThis.fetch;
globalThis.fetch = (path, options) =>
  fetchUrl(new URL(String(path), process.env['LINKLOG_URL']), options);

interface Response {
  readonly status: number;
  readonly data: unknown;
}

type Success<R extends Response> = Extract<R, { status: 200 | 201 | 202 | 204 }>['data'];

const bodyOf = async <R extends Response>(call: Promise<R>): Promise<Success<R>> => {
  const { status, data } = await call;
  if (status >= 400) throw data;
  return data as Success<R>;
};

await makeCalls('orval', (_baseUrl, key) => {
  const authorization = { Authorization: `Bearer ${key}` };
  const options = { headers: authorization };
  return {
    shorten: (body, idempotencyKey) =>
      bodyOf(
        linklog.shorten(body, { headers: { ...authorization, 'Idempotency-Key': idempotencyKey } }),
      ),
    shortenBatch: (body) => bodyOf(linklog.shortenBatch(body, options)),
    getLink: (shortCode) => bodyOf(linklog.getLink(shortCode, {}, options)),
    changeLink: (shortCode, body, ifMatch) =>
      bodyOf(
        linklog.changeLink(
          shortCode,
          body,
          {},
          { headers: { ...authorization, 'If-Match': ifMatch } },
        ),
      ),
    deleteLink: (shortCode) => bodyOf(linklog.deleteLink(shortCode, {}, options)),
    listLinks: (query) => bodyOf(linklog.listLinks(query, options)),
    getStats: (shortCode, query) => bodyOf(linklog.getStats(shortCode, query, options)),
    getEvents: (query) => bodyOf(linklog.getEvents(query, options)),
    getQrCode: (shortCode) => bodyOf(linklog.getQrCode(shortCode, {}, options)),
    exportLinks: async (query) => {
      const response = await linklog.exportLinks(query, options);
      // JSON lines are returned as a stream.
      return 'stream' in response ? response.stream.blob() : bodyOf(Promise.resolve(response));
    },
    makeKey: (body) => bodyOf(linklog.makeKey(body, options)),
    claimDomain: (body) => bodyOf(linklog.claimDomain(body, options)),
    verifyDomain: (domain) => bodyOf(linklog.verifyDomain(domain, options)),
  };
});
