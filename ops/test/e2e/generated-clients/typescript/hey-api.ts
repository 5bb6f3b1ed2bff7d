import * as linklog from './hey-api/index.js';
import { createClient } from './hey-api/client/index.js';
import { makeCalls } from './calls.js';

await makeCalls('hey-api', (baseUrl, key) => {
  const options = { client: createClient({ baseUrl, auth: key }), throwOnError: true } as const;
  const bodyOf = async <Body>(call: Promise<{ data: Body }>): Promise<Body> => (await call).data;
  return {
    shorten: (body, idempotencyKey) =>
      bodyOf(linklog.shorten({ ...options, body, headers: { 'Idempotency-Key': idempotencyKey } })),
    shortenBatch: (body) => bodyOf(linklog.shortenBatch({ ...options, body })),
    getLink: (shortCode) => bodyOf(linklog.getLink({ ...options, path: { shortCode } })),
    changeLink: (shortCode, body, ifMatch) =>
      bodyOf(
        linklog.changeLink({
          ...options,
          path: { shortCode },
          body,
          headers: { 'If-Match': ifMatch },
        }),
      ),
    deleteLink: (shortCode) => bodyOf(linklog.deleteLink({ ...options, path: { shortCode } })),
    listLinks: (query) => bodyOf(linklog.listLinks({ ...options, query })),
    getStats: (shortCode, query) =>
      bodyOf(linklog.getStats({ ...options, path: { shortCode }, query })),
    getEvents: (query) => bodyOf(linklog.getEvents({ ...options, query })),
    getQrCode: (shortCode) => bodyOf(linklog.getQrCode({ ...options, path: { shortCode } })),
    // The generated client guesses from the media type how to read a body.
    exportLinks: (query) => bodyOf(linklog.exportLinks({ ...options, query, parseAs: 'blob' })),
    makeKey: (body) => bodyOf(linklog.makeKey({ ...options, body })),
    claimDomain: (body) => bodyOf(linklog.claimDomain({ ...options, body })),
    verifyDomain: (domain) => bodyOf(linklog.verifyDomain({ ...options, path: { domain } })),
  };
});
