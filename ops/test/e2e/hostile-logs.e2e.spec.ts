import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  sendRequest,
  concurrently,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { connectTo } from '../support/raw-http.js';
import { eventually } from '../support/waiting.js';
import { productFixture } from './harness.js';

const times = 160;
/** Requests in flight: each sign-in writes a session, and the service responds within 1.8 s. */
const inFlight = 20;
const maxBytes = 100_000;

describe('product: log under a flood', () => {
  const bench = productFixture({ LOG_LEVEL: 'info' });

  it('gets a few lines per kind of request that costs no call, with a truncated path', async () => {
    const { api, admin } = bench.product;
    const { key } = await bench.key('PRO');
    const signIn = (listener: string, body: object): RequestOptions => ({
      method: 'POST',
      headers: { Origin: listener },
      body,
    });
    const signedIn = async (listener: string, body: object): Promise<RequestOptions> => {
      const { headers } = await sendRequest(`${listener}/console/session`, signIn(listener, body));
      return { headers: { Cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' } };
    };
    const operator = { token: bench.product.adminToken, actor: 'maria' };
    const before = bench.product.stderr().length;
    const long = 'x'.repeat(15_000);
    const floods: readonly (readonly [number, string, RequestOptions])[] = [
      [404, `${api}/${long}`, {}],
      [401, `${api}/v2/${long}`, {}],
      [401, `${api}/v2/usage`, { headers: { Authorization: `Bearer ll_${'a'.repeat(38)}` } }],
      [405, `${api}/health?${long}`, { method: 'PUT' }],
      [200, `${api}/health?${long}`, {}],
      [404, `${admin}/${long}`, {}],
      [401, `${admin}/admin/${long}`, {}],
      [421, `${admin}/${long}`, { headers: { Host: 'evil.example' } }],
      [200, `${api}/console/session`, await signedIn(api, { key })],
      [200, `${api}/console/session`, signIn(api, { key })],
      [200, `${admin}/console/session`, await signedIn(admin, operator)],
      [200, `${admin}/console/session`, signIn(admin, operator)],
    ];
    for (const [status, url, options] of floods) {
      const responses: HttpResponse[] = [];
      while (responses.length < times) {
        responses.push(...(await concurrently(inFlight, () => sendRequest(url, options))));
      }
      expect(statuses(responses), url.slice(0, 60)).to.deep.equal({ [status]: times });
    }
    // Each request that costs a call is logged.
    const headers = { 'X-Request-Id': 'the-last-one', Authorization: `Bearer ${key}` };
    await sendRequest(`${api}/v2/${long}`, { headers });
    await eventually('the last request is logged', () =>
      bench.product.stderr().includes('the-last-one'),
    );
    const log = bench.product.stderr().slice(before);
    expect(log.length).to.be.below(maxBytes);
    for (const status of [200, 401, 404, 405]) expect(log).to.include(`"status":${status},`);
    expect(log).to.include('x'.repeat(150)).and.not.include('x'.repeat(201));
  });

  it('gets no error for an unreadable body while the link is looked up', async () => {
    const { edge, stderr } = bench.product;
    const head = 'POST /unknown HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const before = stderr().length;
    for (let sent = 0; sent < 20; sent += 1) {
      const connection = await connectTo(edge);
      connection.socket.write(`${head}5;${'x'.repeat(17_000)}`);
      expect(await connection.until(/^HTTP/)).to.include('HTTP/1.1 413');
      connection.socket.destroy();
    }
    // By then, the look-ups have ended.
    await sleep(500);
    expect(stderr().slice(before)).not.to.include('"level":50');
  });
});
