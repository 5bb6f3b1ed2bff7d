import { expect } from 'chai';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { needs } from '../support/needs.js';
import { choices, findMisread, randomLinks, sampleLooks } from '../support/qr-images.js';
import { readQrCodes } from '../support/qr-reader.js';
import { seededRandom } from '../support/random.js';
import {
  destination,
  expectBody,
  expectError,
  invalidKey,
  keyFixture,
  monthly,
  sharedProduct,
  type Link,
} from './harness.js';

const sizeMessage = 'size must be between 100 and 4000';

/** Width and height in pixels, from the IHDR chunk. */
const pngSize = (png: Buffer): readonly [number, number] => {
  expect(png.subarray(0, 8).toString('latin1')).to.equal('\x89PNG\r\n\x1a\n');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

describe('GET /v2/qr', () => {
  const bench = sharedProduct();
  const account = 'qr';
  const pro = keyFixture(bench, 'PRO', { account });
  let link: Link;

  before(async () => {
    link = await bench.link(pro.key, { alias: 'pictured' });
  });

  const qr = (
    query = '',
    key = pro.key,
    code = link.shortCode,
    options = {},
  ): Promise<HttpResponse> => bench.api(`/v2/qr/${code}${query}`, key, options);
  const image = async (query: string): Promise<Buffer> => {
    const response = await qr(query);
    expect(response.status, `${query}: ${response.text.slice(0, 200)}`).to.equal(200);
    return response.bytes;
  };

  it('is a PNG of 300 pixels by default, with its headers', async () => {
    const response = await qr();
    expect(response.headers).to.include({
      'content-type': 'image/png',
      'content-length': String(response.bytes.length),
      'cache-control': 'private, max-age=3600',
    });
    expect(response.headers.etag).to.match(/^"[\w-]+"$/);
    expect(pngSize(response.bytes)).to.deep.equal([300, 300]);
    for (const same of ['?format=png&size=300&margin=4&ecc=M&dark=000&light=fff', '?colour=red']) {
      expect(await image(same)).to.deep.equal(response.bytes);
    }
  });

  it('has the requested format, size and colours', async () => {
    const svg = await qr('?format=svg&size=250&dark=123456c0&light=abcdef');
    expect(svg.headers['content-type']).to.match(/^image\/svg\+xml/);
    expect(svg.text)
      .to.match(/^<svg [^>]*width="250" height="250"/)
      .and.to.match(/fill="#abcdef" d=/)
      .and.to.match(/fill="#123456" fill-opacity="0.753"/)
      .and.to.not.match(/<script|href/);
    // Not a multiple of the modules.
    for (const size of [100, 113, 999, 4_000]) {
      for (const margin of [0, 10]) {
        const query = `?size=${size}&margin=${margin}`;
        expect(pngSize(await image(query)), query).to.deep.equal([size, size]);
      }
    }
    const png = await image('?dark=123456c0&light=abcdef00');
    expect(png.includes(Buffer.from('PLTE\xab\xcd\xef\x12\x34\x56', 'latin1'))).to.be.true;
    expect(png.includes(Buffer.from('tRNS\x00\xc0', 'latin1'))).to.be.true;
  });

  it('has the type application/octet-stream for clients that prefer it', async () => {
    const typed = (Accept: string): Promise<HttpResponse> =>
      qr('', pro.key, link.shortCode, { headers: { Accept } });
    const bytes = await typed('application/octet-stream');
    expect(bytes.headers['content-type']).to.equal('application/octet-stream');
    expect(bytes.headers.vary).to.include('Accept');
    for (const accept of ['image/*', 'application/octet-stream;q=0.5, */*', 'text/plain']) {
      const response = await typed(accept);
      expect(response.headers['content-type'], accept).to.equal('image/png');
      expect(response.bytes.equals(bytes.bytes), accept).to.equal(true);
      expect(response.headers.etag, accept).not.to.equal(bytes.headers.etag);
    }
  });

  it('responds with 304 to its ETag, for free; another appearance has another ETag', async () => {
    const { key } = await bench.key('FREE', { account });
    const { etag = '' } = (await qr('', key)).headers;
    const ask = (url: string, tag: string): Promise<HttpResponse> =>
      bench.api(`/v2/qr/${url}`, key, { headers: { 'If-None-Match': tag } });
    for (const tag of [etag, `"other", W/${etag}`]) {
      const response = await ask(link.shortCode, tag);
      expect([response.status, response.bytes.length]).to.deep.equal([304, 0]);
      expect(response.headers).to.include({ etag, 'cache-control': 'private, max-age=3600' });
    }
    const looks = ['?size=301', '?format=svg', '?ecc=H', '?margin=3', '?dark=111', '?light=eee'];
    const urls = looks.map((look) => link.shortCode + look);
    urls.push((await bench.link(pro.key)).shortCode);
    const tags = new Set([etag]);
    for (const url of urls) {
      const response = await ask(url, etag);
      expect(response.status, url).to.equal(200);
      tags.add(response.headers.etag ?? '');
    }
    expect(tags.size).to.equal(urls.length + 1);
    expect((await bench.usage(key)).qrCodes).to.equal(urls.length + 1);
  });

  it('is available from the 201 on, to keys of every account', async () => {
    const { key: other } = await bench.key('FREE', { account: 'qr-other' });
    for (let round = 0; round < 5; round += 1) {
      const { shortCode } = await bench.link(pro.key);
      expect((await qr('', other, shortCode)).status).to.equal(200);
    }
  });

  it('is 400 for invalid parameters, 404 for an unknown code, 401 without a key', async () => {
    for (const [query, message] of [
      ['size=4001', sizeMessage],
      ['dark=fff', 'dark must be clearly darker than light'],
      ['mark=0', 'mark must be 1'],
    ] as const) {
      for (const code of [link.shortCode, 'nothing0']) {
        const response = await qr(`?${query}`, pro.key, code);
        expectError(response, { status: 400, message, path: `/v2/qr/${code}` });
      }
    }
    for (const code of ['nothing0', 'x'.repeat(51), 'Pictured', 'a.b', '%00']) {
      const response = await qr('', pro.key, code);
      expectError(response, {
        status: 404,
        message: 'Short URL not found',
        path: `/v2/qr/${code}`,
      });
    }
    expectBody(await qr('', 'll_nobody'), 401, invalidKey);
  });

  it('is 410 for an expired or blocked link, and spends nothing', async () => {
    const { key } = await bench.key('FREE', { account });
    const used = await bench.link(key, { maxClicks: 1 });
    expect((await bench.visit(used.shortCode)).status).to.equal(302);
    const bad = await bench.link(key);
    await bench.admin('POST', `/admin/links/${bad.shortCode}/block`, { reason: 'phishing' });
    for (const [{ shortCode }, message, errorType] of [
      [used, 'This link has expired', 'EXPIRED'],
      [bad, 'This link has been blocked', 'BLOCKED'],
    ] as const) {
      const path = `/v2/qr/${shortCode}`;
      expectError(await qr('', key, shortCode), { status: 410, message, path, errorType });
    }
    expect((await bench.usage(key)).qrCodes).to.equal(0);
  });

  it('has a limit of exactly 35 a month on FREE, also with concurrent requests', async () => {
    const { key } = await bench.key('FREE', { account });
    const responses = await concurrently(55, (n) => qr(`?size=${100 + n}`, key));
    expect(statuses(responses)).to.deep.equal({ 200: 35, 429: 20 });
    for (const response of responses.filter(({ status }) => status === 429)) {
      expectBody(response, 429, monthly('Monthly QR code limit reached.', 35));
      expect(response.headers).to.not.have.property('retry-after');
    }
    expect((await bench.usage(key)).qrCodes).to.equal(35);
    // The code is checked before the monthly limit.
    expect((await qr('', key, 'nothing0')).status).to.equal(404);
  });

  it('costs one call and no QR code as HEAD or with an error, and renders nothing', async () => {
    const { key } = await bench.key('FREE', { account });
    const head = await qr('?size=200', key, link.shortCode, { method: 'HEAD' });
    expect([head.status, head.bytes.length]).to.deep.equal([200, 0]);
    expect((await bench.usage(key)).qrCodes).to.equal(0);
    const get = await qr('?size=200', key);
    for (const name of ['etag', 'content-type', 'cache-control']) {
      expect(head.headers[name], name).to.equal(get.headers[name]);
    }
    // The length is known only after rendering.
    expect(head.headers).to.not.have.property('content-length');
    await qr('?size=1', key);
    await qr('', key, 'nothing0');
    expect(await bench.usage(key)).to.include({ calls: 4, qrCodes: 1 });
  });

  it('can be switched off, checked after the query and before the code', async () => {
    const message = 'QR code generation is currently disabled on this platform';
    await bench.admin('PATCH', '/admin/platform', { features: { qr: false } });
    try {
      for (const code of ['pictured', 'nothing0']) {
        const response = await qr('', pro.key, code);
        expectError(response, { status: 400, message, path: `/v2/qr/${code}` });
      }
      const invalid = { status: 400, message: sizeMessage, path: '/v2/qr/pictured' };
      expectError(await qr('?size=1'), invalid);
    } finally {
      await bench.admin('PATCH', '/admin/platform', { features: { qr: true } });
    }
    expect((await qr()).status).to.equal(200);
  });

  describe('read by an independent reader', () => {
    needs('zbarimg', 'rsvg-convert');

    it('contains the short URL, marked with mark=1', async () => {
      const [plain, marked] = await readQrCodes([
        { format: 'png', bytes: await image('') },
        { format: 'png', bytes: await image('?mark=1') },
      ]);
      expect([plain, marked]).to.deep.equal([link.shortUrl, `${link.shortUrl}?qr`]);
      const visit = await bench.visit(`${link.shortCode}?qr`);
      expect(visit.headers.location).to.equal(destination);
    });

    it('contains the short URL in each of 100 random appearances', async () => {
      const seed = 20_261_121;
      const looks = sampleLooks(100, seededRandom(seed));
      for (const name of ['format', 'size', 'ecc', 'margin', 'colours'] as const) {
        const missed = choices[name].filter((value) => !looks.some((look) => look[name] === value));
        expect(missed, name).to.deep.equal([]);
      }
      const links = await randomLinks(bench.product, 25, seededRandom(seed + 10));
      expect(await findMisread(bench.product, links, looks)).to.deep.equal([]);
    });
  });
});
