import { expect } from 'chai';
import { type HttpResponse } from '../support/http.js';
import { needs } from '../support/needs.js';
import { readQrCodes } from '../support/qr-reader.js';
import type { IssuedKey } from '../support/product.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { destination, expectRefused, sharedProduct, type Link } from './harness.js';

const inactive = 'The domain is not active for this account';
const notFound = 'Short URL not found';

const taken = 'Alias is already taken';
const invalidDomain = 'domain must be a host, such as go.example.com';
const elsewhere = 'https://example.com/elsewhere';

type OwnLink = Link & { readonly domain?: string };

describe('product: links on domains', () => {
  const bench = sharedProduct();
  const calls = domainCalls(bench);
  const { locationOf } = calls;
  let pro: IssuedKey;
  let domain: string;
  let second: string;

  before(async () => {
    pro = await bench.key('PRO', { account: 'links-on-domains' });
    domain = await calls.activate(pro.key);
    second = await calls.activate(pro.key);
  });

  const link = (body: Record<string, unknown> = {}): Promise<OwnLink> =>
    bench.link(pro.key, { domain, ...body });

  const expectFailure = (response: HttpResponse, status: number, message: string): void => {
    expect(response.status, response.text).to.equal(status);
    expect(response.json()).to.include({ statusCode: status, message });
  };

  describe('are created', () => {
    it('with a code of their domain, in every spelling, and are live only there', async () => {
      const created = await link({ domain: `${domain.toUpperCase()}.` });
      const { shortCode, createdAt } = created;
      const { protocol } = new URL((await bench.link(pro.key)).shortUrl);
      expect(created).to.deep.equal({
        ...{ shortUrl: `${protocol}//${domain}/${shortCode}`, shortCode, url: destination },
        ...{ createdAt, domain },
      });
      for (const edge of bench.product.edges) {
        expect(await locationOf(domain, shortCode, edge)).to.equal(destination);
        for (const host of [second, 'localhost']) {
          expect(await locationOf(host, shortCode, edge), host).to.equal('404');
        }
      }
      expect(await bench.link(pro.key, { domain: null })).to.not.have.property('domain');
      // A link is reused on its domain only.
      const statusesOfReuse = [];
      for (const on of [domain, second, domain]) {
        const body = { url: `${elsewhere}?reused`, reuse: true, domain: on };
        statusesOfReuse.push((await bench.shorten(pro.key, body)).status);
      }
      expect(statusesOfReuse).to.deep.equal([201, 201, 200]);
    });

    it('with the same alias on each domain', async () => {
      const alias = 'same-alias';
      const urls: string[] = [];
      for (const on of [domain, second, null]) {
        const body = { url: `${elsewhere}/${on}`, alias, domain: on };
        await bench.link(pro.key, body);
        expectRefused(await bench.shorten(pro.key, body), 400, taken);
        urls.push(body.url);
      }
      const served = await Promise.all(
        [domain, second, 'localhost'].map((host) => locationOf(host, alias)),
      );
      expect(served).to.deep.equal(urls);
    });

    it('only by the account that has the active domain, on any plan', async () => {
      const other = await bench.key('FREE', { account: 'links-elsewhere' });
      const pending = newName();
      expectDomain(await calls.claim(pro.key, pending), 201);
      for (const [key, name] of [
        [pro.key, pending],
        [pro.key, newName()],
        [other.key, domain],
      ] as const) {
        const response = await bench.shorten(key, { url: destination, domain: name });
        expectRefused(response, 400, inactive);
      }
    });
  });

  describe('are addressed', () => {
    const paths = [
      ['GET', '/v2/links/:code'],
      ['PATCH', '/v2/links/:code'],
      ['DELETE', '/v2/links/:code'],
      ['GET', '/v2/links/:code/history'],
      ['GET', '/v2/stats/:code'],
      ['GET', '/v2/qr/:code'],
      ['GET', '/admin/links/:code'],
      ['PATCH', '/admin/links/:code'],
      ['DELETE', '/admin/links/:code'],
      ['GET', '/admin/links/:code/history'],
      ['POST', '/admin/links/:code/block'],
      ['POST', '/admin/links/:code/unblock'],
    ] as const;

    const send = (method: string, path: string): Promise<HttpResponse> => {
      const body = path.includes('block') ? { reason: 'a test' } : { title: 'changed' };
      const options = { method, ...(['PATCH', 'POST'].includes(method) && { body }) };
      return path.startsWith('/admin')
        ? bench.admin(method, path, options.body)
        : bench.api(path, pro.key, options);
    };

    it('on every path: 404 for another domain, 400 for an invalid one', async () => {
      const { shortCode } = await link();
      for (const [method, path] of paths) {
        const at = path.replace(':code', shortCode);
        for (const query of ['', `?domain=${second}`, '?domain=unknown.example', '?domain=host']) {
          expectFailure(await send(method, at + query), 404, notFound);
        }
        for (const query of ['local%20host', '', `${domain}%2f${shortCode}`]) {
          expectFailure(await send(method, `${at}?domain=${query}`), 400, invalidDomain);
        }
        const twice = await send(method, `${at}?domain=${domain}&domain=${second}`);
        expect(twice.status, `${method} ${path}: ${twice.text}`).to.equal(400);
      }
      const details = await bench.api(`/v2/links/${shortCode}?domain=${domain}`, pro.key);
      expect(details.json()).to.include({ version: 1, status: 'active' });
    });

    describe('by QR codes', () => {
      needs('zbarimg');

      it('with the short URL on the domain', async () => {
        const { shortCode, shortUrl } = await link();
        const images = [];
        for (const query of ['', '&mark=1']) {
          const response = await send('GET', `/v2/qr/${shortCode}?domain=${domain}${query}`);
          images.push({ format: 'png' as const, bytes: response.bytes });
        }
        expect(await readQrCodes(images)).to.deep.equal([shortUrl, `${shortUrl}?qr`]);
      });
    });
  });
});
