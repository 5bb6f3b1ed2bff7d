import { expect } from 'chai';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { needs } from '../support/needs.js';
import { readQrCodes } from '../support/qr-reader.js';
import {
  expectBody,
  expectError,
  invalidKey,
  keyFixture,
  monthly,
  sharedProduct,
  type Link,
} from './harness.js';

/** Width and height in pixels, from the IHDR chunk. */
const pngSize = (png: Buffer): readonly [number, number] => {
  expect(png.subarray(0, 8).toString('latin1')).to.equal('\x89PNG\r\n\x1a\n');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

/** Appearances. All colours are dark on light: zbarimg does not read other pairs reliably. */
const formats = ['png', 'svg'] as const;
const sizes = [100, 101, 110, 137, 200, 300, 517, 1_000];
const colours = [
  ...['dark=000&light=fff', 'dark=003366&light=ffffff', 'dark=800000&light=ffffcc'],
  ...['dark=00f&light=ff0', 'dark=e00&light=fff', 'dark=060&light=cfc'],
  ...['dark=777777&light=ffffff', 'dark=1a1a1aff&light=e0ffe0ff'],
  ...['dark=000000fe&light=fffffffe', 'dark=000000b0&light=ffffff80', 'dark=000&light=ffffff00'],
];

/** Width and height in the header of an image. */
const dimensionsOf = (format: 'png' | 'svg', bytes: Buffer): readonly number[] =>
  format === 'png'
    ? pngSize(bytes)
    : (/^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(bytes.toString()) ?? []).slice(1).map(Number);

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
    const png = await image('?size=4000&dark=123456c0&light=abcdef00');
    expect(pngSize(png)).to.deep.equal([4_000, 4_000]);
    expect(png.includes(Buffer.from('PLTE\xab\xcd\xef\x12\x34\x56', 'latin1'))).to.be.true;
    expect(png.includes(Buffer.from('tRNS\x00\xc0', 'latin1'))).to.be.true;
  });

  it('has the type application/octet-stream for clients that prefer it', async () => {
    const typed = (Accept: string): Promise<HttpResponse> =>
      qr('', pro.key, link.shortCode, { headers: { Accept } });
    const bytes = await typed('application/octet-stream');
    expect(bytes.headers['content-type']).to.equal('application/octet-stream');
    expect(bytes.headers.vary).to.include('Accept');
    const png = await typed('application/octet-stream;q=0.5, */*');
    expect(png.headers['content-type']).to.equal('image/png');
    expect(png.headers.etag).not.to.equal(bytes.headers.etag);
  });

  it('responds with 304 to its ETag, for free; another appearance has another ETag', async () => {
    const { key } = await bench.key('FREE', { account });
    const { etag = '' } = (await qr('', key)).headers;
    const ask = (url: string, tag: string): Promise<HttpResponse> =>
      bench.api(`/v2/qr/${url}`, key, { headers: { 'If-None-Match': tag } });
    const response = await ask(link.shortCode, `"other", W/${etag}`);
    expect([response.status, response.bytes.length]).to.deep.equal([304, 0]);
    expect(response.headers).to.include({ etag, 'cache-control': 'private, max-age=3600' });
    const { shortCode: another } = await bench.link(pro.key);
    const urls = [`${link.shortCode}?size=301`, `${link.shortCode}?format=svg`, another];
    for (const url of urls) expect((await ask(url, etag)).status, url).to.equal(200);
    expect((await bench.usage(key)).qrCodes).to.equal(urls.length + 1);
  });

  it('is 400 for invalid parameters, 404 for an unknown code, 401 without a key', async () => {
    for (const code of [link.shortCode, 'nothing0']) {
      const path = `/v2/qr/${code}`;
      const message = 'mark must be 1';
      expectError(await qr('?mark=0', pro.key, code), { status: 400, message, path });
    }
    for (const code of ['nothing0', 'Pictured', '%00']) {
      const path = `/v2/qr/${code}`;
      const message = 'Short URL not found';
      expectError(await qr('', pro.key, code), { status: 404, message, path });
    }
    expectBody(await qr('', 'll_nobody'), 401, invalidKey);
  });

  it('is 410 for a blocked link, spends nothing; keys of every account have it', async () => {
    const { key } = await bench.key('FREE', { account: 'qr-other' });
    const { shortCode } = await bench.link(pro.key);
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'phishing' });
    expectError(await qr('', key, shortCode), {
      ...{ status: 410, message: 'This link has been blocked', errorType: 'BLOCKED' },
      path: `/v2/qr/${shortCode}`,
    });
    expect((await bench.usage(key)).qrCodes).to.equal(0);
    expect((await qr('', key)).status).to.equal(200);
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
    // The length is known only after rendering.
    expect(head.headers).to.not.have.property('content-length');
    await qr('?size=1', key);
    await qr('', key, 'nothing0');
    expect(await bench.usage(key)).to.include({ calls: 3, qrCodes: 0 });
  });

  it('can be switched off, checked after the query and before the code', async () => {
    const message = 'QR code generation is currently disabled on this platform';
    await bench.admin('PATCH', '/admin/platform', { features: { qr: false } });
    try {
      const path = '/v2/qr/nothing0';
      expectError(await qr('', pro.key, 'nothing0'), { status: 400, message, path });
      const invalid = { status: 400, message: 'size must be between 100 and 4000', path };
      expectError(await qr('?size=1', pro.key, 'nothing0'), invalid);
    } finally {
      await bench.admin('PATCH', '/admin/platform', { features: { qr: true } });
    }
    expect((await qr()).status).to.equal(200);
  });

  describe('read by an independent reader', () => {
    needs('zbarimg', 'rsvg-convert');

    it('contains the short URL in each of 44 appearances, with codes of 8 to 50 characters', async () => {
      const images = [];
      const urls = [];
      for (let index = 0; index < 44; index += 1) {
        const alias = `${String(index).padStart(2, '0')}${'aZ-_7'.repeat(10)}`.slice(0, 8 + index);
        const { shortCode, shortUrl } = await bench.link(pro.key, { alias: alias.slice(0, 50) });
        const [format = 'png', size = 0] = [formats[index % 2], sizes[index % sizes.length]];
        const ecc = 'LMQH'[(index >> 1) % 4] ?? '';
        const query = `?format=${format}&size=${size}&ecc=${ecc}&margin=${(3 * index) % 11}`;
        const response = await qr(`${query}&${colours[index % 11] ?? ''}`, pro.key, shortCode);
        expect(response.status, query + response.text.slice(0, 200)).to.equal(200);
        expect(dimensionsOf(format, response.bytes), query).to.deep.equal([size, size]);
        images.push({ format, bytes: response.bytes });
        urls.push(shortUrl);
      }
      expect(await readQrCodes(images)).to.deep.equal(urls);
      const [marked] = await readQrCodes([{ format: 'png', bytes: await image('?mark=1') }]);
      expect(marked).to.equal(`${link.shortUrl}?qr`);
    });
  });
});
