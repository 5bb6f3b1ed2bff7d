import { expect } from 'chai';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { HttpResponse } from '../support/http.js';
import { needs } from '../support/needs.js';
import { readQrCodes } from '../support/qr-reader.js';
import { eventuallyPasses } from '../support/waiting.js';
import { keyFixture, sharedProduct } from './harness.js';
import { csvFile, importCalls } from './imports-harness.js';

const domain = 'codes.example.com';
const long = 'x'.repeat(190);
const longest = '🎉'.repeat(190);

/** The links of the tests: their subjects. */
const codes = ['café', 'q.r', long];
const subjects = [...codes, longest, `${domain}/café`, `${domain}/${longest}`];

const destinationOf = (subject: string): string =>
  `https://example.com/${subjects.indexOf(subject)}`;

const partsOf = (subject: string): readonly [code: string, domain: string | null] => {
  const [code = '', on = null] = subject.split('/').reverse();
  return [code, on];
};

/** The address of a link in the API, after `/v2/…/`. */
const addressOf = (subject: string, query = ''): string => {
  const [code, on] = partsOf(subject);
  const parameters = [...(on === null ? [] : [`domain=${on}`]), ...(query === '' ? [] : [query])];
  return `${encodeURIComponent(code)}?${parameters.join('&')}`;
};

describe('the code of an imported link', function () {
  this.timeout(60_000);
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'imported-codes' });

  before('create the links', async () => {
    const { account } = pro;
    expect((await bench.admin('POST', '/admin/domains', { domain, account })).status).to.equal(201);
    const rows = subjects.map((subject) => {
      const [code, on] = partsOf(subject);
      return `${code},${destinationOf(subject)},${on ?? ''}`;
    });
    const file = csvFile('code,url,domain', ...rows);
    const { ended } = await importCalls(bench).run(file, pro.key);
    expect(ended).to.include({ created: subjects.length });
  });

  const visitLink = (subject: string, end = ''): Promise<HttpResponse> => {
    const [code, on] = partsOf(subject);
    const headers: Record<string, string> = on === null ? {} : { Host: on };
    return bench.visit(encodeURIComponent(code) + end, { headers });
  };
  const details = async (subject: string): Promise<LinkDetails> =>
    (await bench.api(`/v2/links/${addressOf(subject)}`, pro.key)).json() as LinkDetails;

  it('redirects, has a preview, and is counted', async () => {
    for (const subject of subjects) {
      const { status, headers } = await visitLink(subject);
      expect([status, headers.location], subject).to.deep.equal([302, destinationOf(subject)]);
      const { text } = await visitLink(subject, '+');
      expect(text, subject).to.include(`<a href="${destinationOf(subject)}"`);
    }
    // In NFD, and with characters that were pasted after it.
    for (const path of ['cafe%CC%81', 'caf%c3%a9%E2%80%9D', 'q.r~)']) {
      const subject = path.startsWith('q') ? 'q.r' : 'café';
      expect((await bench.visit(path)).headers.location, path).to.equal(destinationOf(subject));
    }
    for (const subject of subjects) {
      const clickCount = subject === 'café' ? 3 : subject === 'q.r' ? 2 : 1;
      await eventuallyPasses(async () => {
        const path = `/v2/stats/${addressOf(subject, 'include=triggers')}`;
        expect((await bench.api(path, pro.key)).json(), subject).to.deep.include({
          ...{ clickCount, url: destinationOf(subject) },
          triggers: [{ value: 'link', clicks: clickCount }],
        });
      });
    }
  });

  describe('in pictures', () => {
    needs('zbarimg', 'rsvg-convert');

    it('is in QR codes, with less error correction for the longest ones', async () => {
      const images: { readonly format: 'png'; readonly bytes: Buffer }[] = [];
      const urls: string[] = [];
      for (const subject of subjects) {
        const path = `/v2/qr/${addressOf(subject, 'size=800&ecc=H')}`;
        images.push({ format: 'png', bytes: (await bench.api(path, pro.key)).bytes });
        urls.push((await details(subject)).shortUrl);
      }
      // A further code of a link has its own URL.
      const body = { alias: 'pictured-code' };
      const response = await bench.api('/v2/links/q.r/codes', pro.key, { method: 'POST', body });
      const { codes: added = [] } = response.json() as LinkDetails;
      const { bytes } = await bench.api('/v2/qr/pictured-code', pro.key);
      images.push({ format: 'png', bytes });
      urls.push(...added.map(({ shortUrl }) => shortUrl));
      expect(await readQrCodes(images)).to.deep.equal(urls);
      const { qrCodes } = await bench.usage(pro.key);
      const small = await bench.api(`/v2/qr/${encodeURIComponent(longest)}?size=100`, pro.key);
      expect((small.json() as { message: string }).message).to.match(
        /^size must be at least \d{3} for this short URL$/,
      );
      expect((await bench.usage(pro.key)).qrCodes).to.equal(qrCodes);
    });
  });
});
