import { expect } from 'chai';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { HttpResponse } from '../support/http.js';
import { createImportedLinks } from '../support/imported-links.js';
import { needs } from '../support/needs.js';
import { readQrCodes } from '../support/qr-reader.js';
import { eventuallyPasses } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import { keyFixture, sharedProduct } from './harness.js';

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
  const { readAll } = eventPages(bench);

  /** The default domain, as in short URLs. */
  const host = (): string => `http://localhost:${new URL(bench.product.edge).port}`;

  before('create the links', async () => {
    const { account } = pro;
    expect((await bench.admin('POST', '/admin/domains', { domain, account })).status).to.equal(201);
    const links = subjects.map((code) => ({ code, url: destinationOf(code), title: 'Imported' }));
    await createImportedLinks(bench.product, pro, links);
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

  it('is text in responses and percent-encoded in short URLs, and is listed and found', async () => {
    for (const subject of subjects) {
      const [code, on] = partsOf(subject);
      const base = on === null ? host() : `http://${on}`;
      expect(await details(subject)).to.deep.include({
        ...{ shortCode: code, alias: code, domain: on, status: 'active' },
        shortUrl: `${base}/${encodeURIComponent(code)}`,
      });
    }
    expect(await details('cafe\u0301')).to.deep.equal(await details('café'));
    const search = `search=${encodeURIComponent('CAFE\u0301')}`;
    await eventuallyPasses(async () => {
      const found = (await bench.api(`/v2/links?${search}`, pro.key)).json() as {
        readonly links: readonly LinkDetails[];
      };
      expect(found.links.map(({ shortCode }) => shortCode)).to.deep.equal(['café', 'café']);
    });
  });

  it('is edited by API and in bulk, and has events', async () => {
    for (const subject of subjects) {
      const options = { method: 'PATCH', body: { note: 'a note' }, headers: { 'If-Match': '"1"' } };
      const changed = await bench.api(`/v2/links/${addressOf(subject)}`, pro.key, options);
      expect(changed.json(), changed.text).to.include({ note: 'a note', version: 2 });
      const history = `/v2/links/${addressOf(subject).replace('?', '/history?')}`;
      const { events } = (await bench.api(history, pro.key)).json() as { events: unknown[] };
      expect(events).to.have.length(2);
    }
    // In NFD, and as `domain/code`.
    const body = {
      shortCodes: [...subjects, 'unknown'].map((code) => code.normalize('NFD')),
      change: { addTags: ['bulk'] },
    };
    const bulk = await bench.api('/v2/links/bulk', pro.key, { method: 'POST', body });
    const { results } = bulk.json() as { results: { success: boolean; shortCode: string }[] };
    expect(results.map(({ success }) => success)).to.deep.equal([
      ...subjects.map(() => true),
      false,
    ]);
    expect(results[codes.indexOf('café')]).to.include({ shortCode: 'café', version: 3 });
    for (const [query, subject] of [
      [`shortCode=${encodeURIComponent('cafe\u0301')}`, 'café'],
      [`shortCode=${encodeURIComponent(longest)}&domain=${domain}`, `${domain}/${longest}`],
    ] as const) {
      await eventuallyPasses(async () => {
        const events = await readAll(pro.key, query);
        expect(events.map((event) => event.subject)).to.deep.equal([subject, subject, subject]);
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
