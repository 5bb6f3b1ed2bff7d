import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { atOnce, statuses, type Answer } from '../testing/http.js';
import {
  destination,
  expectBody,
  expectError,
  invalidKey,
  monthly,
  withProduct,
  type Link,
} from './harness.js';

const run = promisify(execFile);

const formatMessage = 'format must be either png or svg';
const sizeMessage = 'size must be between 100 and 1000';
const marginMessage = 'margin must be between 0 and 10';
const eccMessage = 'ecc must be one of L, M, Q, H';
const colourMessage = (name: string): string => `${name} must be a hex colour, such as ff8800`;

/** Width and height in pixels: the first fields of the first chunk. */
const pngSize = (png: Buffer): readonly [number, number] => {
  expect(png.subarray(0, 8).toString('latin1')).to.equal('\x89PNG\r\n\x1a\n');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
};

describe('GET /v2/qr', () => {
  const bench = withProduct();
  let pro: string;
  let link: Link;
  let dir: string;

  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'linklog-qr-'));
    pro = (await bench.key('PRO')).key;
    link = await bench.link(pro, { alias: 'pictured' });
  });

  after(() => rm(dir, { recursive: true, force: true }));

  const qr = (query = '', key = pro, code = link.shortCode, method = 'GET'): Promise<Answer> =>
    bench.api(`/v2/qr/${code}${query}`, key, { method });

  const image = async (query: string, code = link.shortCode): Promise<Buffer> => {
    const answer = await qr(query, pro, code);
    expect(answer.status, `${query}: ${answer.text.slice(0, 200)}`).to.equal(200);
    return answer.bytes;
  };

  const spent = async (key: string): Promise<number> => {
    const body = (await bench.api('/v2/usage', key)).json() as { qrCodes: { used: number } };
    return body.qrCodes.used;
  };

  /** What another's reader sees in an image; a machine without the programs fails the test. */
  const readBack = async (query: string, code = link.shortCode): Promise<string> => {
    const png = path.join(dir, 'code.png');
    const bytes = await image(query, code);
    if (query.includes('format=svg')) {
      const svg = path.join(dir, 'code.svg');
      await writeFile(svg, bytes);
      await run('rsvg-convert', ['--output', png, svg]);
    } else await writeFile(png, bytes);
    try {
      const { stdout } = await run('zbarimg', ['--quiet', '--raw', png]);
      return stdout.trimEnd();
    } catch (error) {
      // Its exit code for an image without a code.
      if ((error as { code?: unknown }).code === 4) return `no code is read from ${query}`;
      throw error;
    }
  };

  it('is a PNG of 300 pixels unless told, with its headers', async () => {
    const answer = await qr();
    expect(answer.status).to.equal(200);
    expect(answer.headers).to.include({
      'content-type': 'image/png',
      'content-length': String(answer.bytes.length),
      'cache-control': 'private, max-age=3600',
      'x-api-key-name': 'a PRO key',
      'x-ratelimit-limit': '5000',
    });
    expect(answer.headers.etag).to.match(/^"[\w-]+"$/);
    expect(pngSize(answer.bytes)).to.deep.equal([300, 300]);
    expect(answer.bytes).to.deep.equal(
      await image('?format=png&size=300&margin=4&ecc=M&dark=000&light=fff'),
    );
  });

  it('is an SVG when asked', async () => {
    const answer = await qr('?format=svg&size=250');
    expect(answer.headers['content-type']).to.match(/^image\/svg\+xml/);
    expect(answer.text).to.match(/^<svg [^>]*width="250" height="250"/);
    expect(answer.text).to.not.match(/<script|href/);
  });

  it('has exactly the size that was asked for', async () => {
    // Of these, some do not divide by their modules; a renderer that rounds down is one short.
    for (const size of [100, 101, 104, 113, 115, 118, 124, 126, 185, 243, 300, 501, 999, 1_000]) {
      for (const margin of [0, 1, 4, 10]) {
        const query = `?size=${size}&margin=${margin}`;
        expect(pngSize(await image(query)), query).to.deep.equal([size, size]);
      }
    }
  });

  describe('is read back by another’s reader', () => {
    for (const format of ['png', 'svg']) {
      for (const ecc of ['L', 'M', 'Q', 'H']) {
        it(`as ${format} with ecc ${ecc}, in every size`, async () => {
          for (const size of [100, 137, 300, 512, 1_000]) {
            const query = `?format=${format}&ecc=${ecc}&size=${size}`;
            expect(await readBack(query), query).to.equal(link.shortUrl);
          }
        });
      }

      it(`as ${format} in colours and with other margins`, async () => {
        for (const look of [
          'dark=003366&light=ffffff',
          'dark=%23800000&light=%23ffffcc',
          'dark=00f&light=ff0',
          'dark=1a1a1aff&light=e0ffe0ff',
          'margin=2&size=400',
          'margin=10&size=400',
        ]) {
          const query = `?format=${format}&${look}`;
          expect(await readBack(query), query).to.equal(link.shortUrl);
        }
      });

      it(`as ${format} for the longest alias`, async () => {
        const long = await bench.link(pro, { alias: format.padEnd(50, 'q') });
        for (const query of [`?format=${format}&size=200&ecc=H`, `?format=${format}&ecc=L`]) {
          expect(await readBack(query, long.shortCode), query).to.equal(long.shortUrl);
        }
      });
    }
  });

  it('has the colours that were asked for', async () => {
    const svg = (await image('?format=svg&dark=123456&light=abcdef')).toString();
    expect(svg)
      .to.match(/fill="#abcdef"/)
      .and.to.match(/stroke="#123456"/);
  });

  it('answers 304 to who has it, for nothing; another look has another tag', async () => {
    const { key } = await bench.key('FREE');
    const headers = { 'If-None-Match': (await qr('', key)).headers.etag ?? '' };
    for (const tag of [headers['If-None-Match'], `"other", W/${headers['If-None-Match']}`]) {
      const answer = await bench.api(`/v2/qr/${link.shortCode}`, key, {
        headers: { 'If-None-Match': tag },
      });
      expect([answer.status, answer.bytes.length]).to.deep.equal([304, 0]);
      expect(answer.headers.etag).to.equal(headers['If-None-Match']);
      expect(answer.headers['cache-control']).to.equal('private, max-age=3600');
    }
    expect(await spent(key)).to.equal(1);
    const other = await bench.link(pro);
    const looks = ['?size=301', '?format=svg', '?ecc=H', '?margin=3', '?dark=111', '?light=eee'];
    const urls = [
      ...looks.map((look) => `/v2/qr/${link.shortCode}${look}`),
      `/v2/qr/${other.shortCode}`,
    ];
    const tags = new Set([headers['If-None-Match']]);
    for (const url of urls) {
      const answer = await bench.api(url, key, { headers });
      expect(answer.status, url).to.equal(200);
      tags.add(answer.headers.etag ?? '');
    }
    expect(tags.size).to.equal(urls.length + 1);
    expect(await spent(key)).to.equal(urls.length + 1);
  });

  describe('says what is wrong with', () => {
    const wrong: readonly (readonly [string, string])[] = [
      ...['gif', 'PNG', '', 'png&format=svg'].map((v) => [`format=${v}`, formatMessage] as const),
      ...['99', '1001', '', 'x', '-300', '300.5', '1e3', '0x100', '300&size=300'].map(
        (v) => [`size=${v}`, sizeMessage] as const,
      ),
      ...['-1', '11', '', 'x', '1.5'].map((v) => [`margin=${v}`, marginMessage] as const),
      ...['l', 'X', '', 'LM'].map((v) => [`ecc=${v}`, eccMessage] as const),
      ...['dark', 'light'].flatMap((name) =>
        ['', 'red', 'ff', 'ffff', 'fffff', '%23%23fff', 'gggggg', 'fff%0A', '"><script>'].map(
          (v) => [`${name}=${encodeURI(v).replaceAll('%25', '%')}`, colourMessage(name)] as const,
        ),
      ),
      ['size=1&format=gif', formatMessage],
      ['ecc=X&margin=99&size=99', sizeMessage],
    ];
    for (const [query, message] of wrong) {
      it(query, async () => {
        const { shortCode } = link;
        const at = `/v2/qr/${shortCode}`;
        expectError(await qr(`?${query}`), { status: 400, message, path: at });
        // The query is looked at before the code.
        const unknown = await qr(`?${query}`, pro, 'nothing0');
        expectError(unknown, { status: 400, message, path: '/v2/qr/nothing0' });
      });
    }
  });

  it('takes no notice of what it does not know', async () => {
    expect(await image('?colour=red&x=1')).to.deep.equal(await image(''));
  });

  it('is there from the link’s 201 on, for every account’s key', async () => {
    const other = (await bench.key('FREE', { account: 'another' })).key;
    for (let round = 0; round < 5; round += 1) {
      const { shortCode } = await bench.link(pro);
      expect((await qr('', other, shortCode)).status).to.equal(200);
    }
  });

  it('is 404 for what was never made, and 401 without a key', async () => {
    const message = 'Short URL not found';
    for (const code of ['nothing0', 'ab', 'x'.repeat(51), 'QR-CODE', 'a.b', '%00']) {
      const answer = await qr('', pro, code);
      expectError(answer, { status: 404, message, path: `/v2/qr/${code}` });
    }
    expectBody(await qr('', 'll_nobody'), 401, invalidKey);
  });

  it('is 410 for what is used up or blocked, and spends nothing', async () => {
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
    expect(await spent(key)).to.equal(1);
  });

  it('has 35 a month on FREE, exactly, however many are asked for at once', async () => {
    const { key } = await bench.key('FREE');
    const answers = await atOnce(55, (n) => qr(`?size=${100 + n}`, key));
    expect(statuses(answers)).to.deep.equal({ 200: 35, 429: 20 });
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expectBody(answer, 429, monthly('Monthly QR code limit reached.', 35));
      expect(answer.headers).to.not.have.property('retry-after');
    }
    expect(await spent(key)).to.equal(35);
    expect((await qr('', key)).status).to.equal(429);
    // What cannot be handed out is told first.
    expect((await qr('', key, 'nothing0')).status).to.equal(404);
  });

  it('costs nothing to HEAD, refused or not, and one call each time', async () => {
    const { key } = await bench.key('FREE');
    const head = await qr('?size=200', key, link.shortCode, 'HEAD');
    expect([head.status, head.bytes.length]).to.deep.equal([200, 0]);
    expect(await spent(key)).to.equal(0);
    const get = await qr('?size=200', key);
    expect(head.headers.etag).to.equal(get.headers.etag);
    expect(head.headers['content-length']).to.equal(String(get.bytes.length));
    await qr('?size=1', key);
    await qr('', key, 'nothing0');
    const usage = (await bench.api('/v2/usage', key)).json();
    expect(usage).to.deep.include({
      calls: { used: 4, limit: 2_000 },
      qrCodes: { used: 1, limit: 35 },
    });
  });

  it('can be switched off, after the query’s check and before the code’s', async () => {
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

  it('leads where the link leads', async () => {
    const text = await readBack('');
    const { pathname } = new URL(text);
    expect((await bench.visit(pathname.slice(1))).headers.location).to.equal(destination);
  });
});
