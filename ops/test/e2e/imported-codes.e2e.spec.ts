import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { createImportedLinks } from '../support/imported-links.js';
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
  eventPages(bench);

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
});
