import { expect } from 'chai';
import { choices, longHost, findMisread, randomLinks, sampleLooks } from '../support/qr-images.js';
import { seededRandom } from '../support/random.js';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { readQrCodes } from '../support/qr-reader.js';
import {
  destination,
  expectBody,
  expectError,
  invalidKey,
  monthly,
  productFixture,
  type Link,
} from './harness.js';

const formatMessage = 'format must be either png or svg';
const sizeMessage = 'size must be between 100 and 4000';
const contrastMessage = 'dark must be clearly darker than light';
const marginMessage = 'margin must be between 0 and 10';
const eccMessage = 'ecc must be one of L, M, Q, H';
const colourMessage = (name: string): string => `${name} must be a hex colour, such as ff8800`;

/** Width and height in pixels, from the IHDR chunk. */
const pngSize = (png: Buffer): readonly [number, number] => {
  expect(png.subarray(0, 8).toString('latin1')).to.equal('\x89PNG\r\n\x1a\n');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

describe('command API: GET /v2/qr', () => {
  const bench = productFixture({ SHORT_URL_HOST: longHost });
  let pro: string;
  let link: Link;

  before(async () => {
    pro = (await bench.key('PRO')).key;
    link = await bench.link(pro, { alias: 'pictured' });
  });

  const qr = (
    query = '',
    key = pro,
    code = link.shortCode,
    method = 'GET',
  ): Promise<HttpResponse> => bench.api(`/v2/qr/${code}${query}`, key, { method });

  const image = async (query: string, code = link.shortCode): Promise<Buffer> => {
    const response = await qr(query, pro, code);
    expect(response.status, `${query}: ${response.text.slice(0, 200)}`).to.equal(200);
    return response.bytes;
  };

  it('is a PNG of 300 pixels by default, with its headers', async () => {
    const response = await qr();
    expect(response.status).to.equal(200);
    expect(response.headers).to.include({
      'content-type': 'image/png',
      'content-length': String(response.bytes.length),
      'cache-control': 'private, max-age=3600',
      'x-api-key-name': 'a PRO key',
      'x-ratelimit-limit': '5000',
    });
    expect(response.headers.etag).to.match(/^"[\w-]+"$/);
    expect(pngSize(response.bytes)).to.deep.equal([300, 300]);
    expect(response.bytes).to.deep.equal(
      await image('?format=png&size=300&margin=4&ecc=M&dark=000&light=fff'),
    );
  });

  it('is an SVG on request', async () => {
    const response = await qr('?format=svg&size=250');
    expect(response.headers['content-type']).to.match(/^image\/svg\+xml/);
    expect(response.text).to.match(/^<svg [^>]*width="250" height="250"/);
    expect(response.text).to.not.match(/<script|href/);
  });

  it('has the type application/octet-stream for clients that prefer it', async () => {
    const typed = (accept: string): Promise<HttpResponse> =>
      bench.api(`/v2/qr/${link.shortCode}`, pro, { headers: { Accept: accept } });
    const bytes = await typed('application/octet-stream');
    expect(bytes.headers['content-type']).to.equal('application/octet-stream');
    expect(bytes.headers.vary).to.include('Accept');
    for (const accept of ['image/*', '*/*', 'application/octet-stream;q=0.5, */*', 'text/plain']) {
      const response = await typed(accept);
      expect(response.headers['content-type'], accept).to.equal('image/png');
      expect(response.bytes.equals(bytes.bytes), accept).to.equal(true);
      expect(response.headers.etag, accept).not.to.equal(bytes.headers.etag);
    }
  });

  it('has exactly the requested size', async () => {
    // Some sizes are not a multiple of the modules.
    for (const size of [100, 101, 104, 113, 115, 118, 124, 126, 185, 243, 300, 501, 999, 4_000]) {
      for (const margin of [0, 1, 4, 10]) {
        const query = `?size=${size}&margin=${margin}`;
        expect(pngSize(await image(query)), query).to.deep.equal([size, size]);
      }
    }
  });

  it('has the requested colours', async () => {
    const svg = (await image('?format=svg&dark=123456&light=abcdef')).toString();
    expect(svg)
      .to.match(/fill="#abcdef" d=/)
      .and.to.match(/fill="#123456" transform=/);
    const clear = (await image('?format=svg&dark=123456c0&light=ffffff00')).toString();
    expect(clear).to.match(/fill="#123456" fill-opacity="0.753"/);
    expect(clear).to.match(/fill="#ffffff" fill-opacity="0.000"/);
    const png = await image('?dark=123456c0&light=abcdef00');
    expect(png.includes(Buffer.from('PLTE\xab\xcd\xef\x12\x34\x56', 'latin1'))).to.be.true;
    expect(png.includes(Buffer.from('tRNS\x00\xc0', 'latin1'))).to.be.true;
  });

  it('responds with 304 to its ETag, for free; another appearance has another ETag', async () => {
    const { key } = await bench.key('FREE');
    const headers = { 'If-None-Match': (await qr('', key)).headers.etag ?? '' };
    for (const tag of [headers['If-None-Match'], `"other", W/${headers['If-None-Match']}`]) {
      const response = await bench.api(`/v2/qr/${link.shortCode}`, key, {
        headers: { 'If-None-Match': tag },
      });
      expect([response.status, response.bytes.length]).to.deep.equal([304, 0]);
      expect(response.headers.etag).to.equal(headers['If-None-Match']);
      expect(response.headers['cache-control']).to.equal('private, max-age=3600');
    }
    expect((await bench.usage(key)).qrCodes).to.equal(1);
    const other = await bench.link(pro);
    const looks = ['?size=301', '?format=svg', '?ecc=H', '?margin=3', '?dark=111', '?light=eee'];
    const urls = [
      ...looks.map((look) => `/v2/qr/${link.shortCode}${look}`),
      `/v2/qr/${other.shortCode}`,
    ];
    const tags = new Set([headers['If-None-Match']]);
    for (const url of urls) {
      const response = await bench.api(url, key, { headers });
      expect(response.status, url).to.equal(200);
      tags.add(response.headers.etag ?? '');
    }
    expect(tags.size).to.equal(urls.length + 1);
    expect((await bench.usage(key)).qrCodes).to.equal(urls.length + 1);
  });

  it('rejects invalid parameters, before it checks the code', async () => {
    for (const [query, message] of [
      ['format=gif', formatMessage],
      ['size=4001', sizeMessage],
      ['size=300&size=300', sizeMessage],
      ['margin=11', marginMessage],
      ['ecc=X', eccMessage],
      ['dark=%23%23fff', colourMessage('dark')],
      ['light=red', colourMessage('light')],
      ['dark=fff', contrastMessage],
      ['size=1&format=gif', formatMessage],
    ] as const) {
      for (const code of [link.shortCode, 'nothing0']) {
        const response = await qr(`?${query}`, pro, code);
        expectError(response, { status: 400, message, path: `/v2/qr/${code}` });
      }
    }
  });

  it('ignores unknown parameters', async () => {
    expect(await image('?colour=red&x=1')).to.deep.equal(await image(''));
  });

  it('is available from the link’s 201 on, to keys of every account', async () => {
    const other = (await bench.key('FREE', { account: 'another' })).key;
    for (let round = 0; round < 5; round += 1) {
      const { shortCode } = await bench.link(pro);
      expect((await qr('', other, shortCode)).status).to.equal(200);
    }
  });

  it('is 404 for an unknown code, and 401 without a key', async () => {
    const message = 'Short URL not found';
    for (const code of ['nothing0', 'ab', 'x'.repeat(51), 'QR-CODE', 'a.b', '%00']) {
      const response = await qr('', pro, code);
      expectError(response, { status: 404, message, path: `/v2/qr/${code}` });
    }
    expectBody(await qr('', 'll_nobody'), 401, invalidKey);
  });

  it('is 410 for an expired or blocked link, and spends nothing', async () => {
    const { key } = await bench.key('HOBBY');
    const used = await bench.link(key, { alias: 'qr-used-up', maxClicks: 1 });
    expect((await qr('', key, used.shortCode)).status).to.equal(200);
    expect((await bench.visit(used.shortCode)).status).to.equal(302);
    expectError(await qr('', key, used.shortCode), {
      status: 410,
      message: 'This link has expired',
      path: '/v2/qr/qr-used-up',
      errorType: 'EXPIRED',
    });
    const bad = await bench.link(key, { alias: 'qr-blocked' });
    await bench.admin('POST', `/admin/links/${bad.shortCode}/block`, { reason: 'phishing' });
    expectError(await qr('', key, bad.shortCode), {
      status: 410,
      message: 'This link has been blocked',
      path: '/v2/qr/qr-blocked',
      errorType: 'BLOCKED',
    });
    expect((await bench.usage(key)).qrCodes).to.equal(1);
  });

  it('has a limit of exactly 35 a month on FREE, also with concurrent requests', async () => {
    const { key } = await bench.key('FREE');
    const responses = await concurrently(55, (n) => qr(`?size=${100 + n}`, key));
    expect(statuses(responses)).to.deep.equal({ 200: 35, 429: 20 });
    for (const response of responses.filter(({ status }) => status === 429)) {
      expectBody(response, 429, monthly('Monthly QR code limit reached.', 35));
      expect(response.headers).to.not.have.property('retry-after');
    }
    expect((await bench.usage(key)).qrCodes).to.equal(35);
    expect((await qr('', key)).status).to.equal(429);
    // The code is checked before the monthly limit.
    expect((await qr('', key, 'nothing0')).status).to.equal(404);
  });

  it('HEAD costs one call and no QR code, and renders nothing', async () => {
    const { key } = await bench.key('FREE');
    const head = await qr('?size=200', key, link.shortCode, 'HEAD');
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
    const usage = (await bench.api('/v2/usage', key)).json();
    expect(usage).to.deep.include({
      calls: { used: 4, limit: 2_000 },
      qrCodes: { used: 1, limit: 35 },
    });
  });

  it('can be switched off, checked after the query and before the code', async () => {
    const message = 'QR code generation is currently disabled on this platform';
    await bench.admin('PATCH', '/admin/platform', { features: { qr: false } });
    try {
      expectError(await qr(), { status: 400, message, path: '/v2/qr/pictured' });
      const unknown = await qr('', pro, 'nothing0');
      expectError(unknown, { status: 400, message, path: '/v2/qr/nothing0' });
      expectError(await qr('?size=1'), {
        status: 400,
        message: sizeMessage,
        path: '/v2/qr/pictured',
      });
    } finally {
      await bench.admin('PATCH', '/admin/platform', { features: { qr: true } });
    }
    expect((await qr()).status).to.equal(200);
  });

  it('contains the short URL, marked with mark=1', async () => {
    const [plain, marked] = await readQrCodes([
      { format: 'png', bytes: await image('') },
      { format: 'png', bytes: await image('?mark=1') },
    ]);
    expect(marked).to.equal(`${plain ?? ''}?qr`);
    const { pathname, search } = new URL(marked ?? '');
    const visit = await bench.visit(pathname.slice(1) + search);
    expect(visit.headers.location).to.equal(destination);
    expectError(await qr('?mark=0'), {
      status: 400,
      message: 'mark must be 1',
      path: '/v2/qr/pictured',
    });
  });

  describe('decoded by an independent reader', () => {
    const seed = 20_261_121;
    const looks = sampleLooks(100, seededRandom(seed));

    it('covers every format, size, level, margin and pair of colours', () => {
      for (const name of ['format', 'size', 'ecc', 'margin', 'colours'] as const) {
        const missed = choices[name].filter((value) => !looks.some((look) => look[name] === value));
        expect(missed, name).to.deep.equal([]);
      }
    });

    it('is its short URL: a random appearance of each of 100 random links', async () => {
      const links = await randomLinks(bench.product, looks.length, seededRandom(seed + 10));
      expect(await findMisread(bench.product, links, looks)).to.deep.equal([]);
    });

    it('is readable with modules of one pixel', async () => {
      const links = await randomLinks(bench.product, 43, seededRandom(seed + 2));
      const looks = [100, 101, 102, 103, 104, 110].flatMap((size) =>
        [0, 1, 4, 10].flatMap((margin) =>
          (['png', 'svg'] as const).map((format) => ({
            ...{ format, size, margin, ecc: 'H' },
            colours: { dark: '000', light: 'fff' },
          })),
        ),
      );
      // The longest aliases only.
      expect(await findMisread(bench.product, links.slice(-5), looks)).to.deep.equal([]);
    });

    it('is readable with the lowest allowed contrast, and in the largest size', async () => {
      const links = await randomLinks(bench.product, 5, seededRandom(seed + 1));
      const look = { format: 'png', size: 300, ecc: 'M', margin: 4 } as const;
      const withColours = ([dark, light]: readonly [string, string]) => ({
        ...look,
        colours: { dark, light },
      });
      const pale = [
        withColours(['939393', 'fff']),
        withColours(['000', '5a5a5a']),
        withColours(['a08a00', 'fff']),
      ];
      const largest = { ...withColours(['000', 'fff']), size: 4_000 };
      expect(await findMisread(bench.product, links, [...pale, largest])).to.deep.equal([]);
    });
  });
});
