import { Api, type HttpResponse } from './swagger-typescript-api/Api.js';
import { makeCalls } from './calls.js';

await makeCalls('swagger-typescript-api', (baseUrl, key) => {
  const authorization = { Authorization: `Bearer ${key}` };
  const { v2 } = new Api({ baseUrl, baseApiParams: { headers: authorization } });
  const bodyOf = async <Body>(call: Promise<HttpResponse<Body, unknown>>): Promise<Body> => {
    try {
      return (await call).data;
    } catch (response) {
      throw (response as HttpResponse<Body, unknown>).error;
    }
  };
  return {
    shorten: (body, idempotencyKey) =>
      bodyOf(
        v2.shorten(body, { headers: { ...authorization, 'Idempotency-Key': idempotencyKey } }),
      ),
    shortenBatch: (body) => bodyOf(v2.shortenBatch(body)),
    getLink: (shortCode) => bodyOf(v2.getLink(shortCode)),
    changeLink: (shortCode, body, ifMatch) =>
      bodyOf(
        v2.changeLink(shortCode, body, {}, { headers: { ...authorization, 'If-Match': ifMatch } }),
      ),
    deleteLink: (shortCode) => bodyOf(v2.deleteLink(shortCode)),
    listLinks: (query) => bodyOf(v2.listLinks(query)),
    getStats: (shortCode, query) => bodyOf(v2.getStats(shortCode, query)),
    getEvents: (query) => bodyOf(v2.getEvents(query)),
    getQrCode: (shortCode) => bodyOf(v2.getQrCode(shortCode)),
    exportLinks: (query) => bodyOf(v2.exportLinks(query, { format: 'blob' })),
    makeKey: (body) => bodyOf(v2.makeKey(body)),
    claimDomain: (body) => bodyOf(v2.claimDomain(body)),
    verifyDomain: (domain) => bodyOf(v2.verifyDomain(domain)),
  };
});
