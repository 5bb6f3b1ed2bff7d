import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { keyFixture, destination, expectError, sharedProduct } from './harness.js';

const escaped = 'https://example.com/somewhere?a=1&amp;b=2';
const html = { headers: { Accept: 'text/html' } };

describe('redirect edge: preview of a link', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO');

  const code = async (body: Record<string, unknown> = {}): Promise<string> =>
    (await bench.link(pro.key, body)).shortCode;

  const expectPage = (response: HttpResponse, status: number, title: string): void => {
    expect(response.status).to.equal(status);
    expect(response.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(response.headers['cache-control']).to.equal('no-store');
    expect(response.headers['content-security-policy']).to.match(
      /^default-src 'none';.*form-action 'none'/,
    );
    expect(response.headers).not.to.have.property('location');
    expect(response.text).to.include(`<title>${title}</title>`).and.include('<html lang="en">');
    expect(response.text.match(/<h1>/g)).to.have.length(1);
  };

  it('shows destination, creation and expiry, and is not counted', async () => {
    const { shortCode, createdAt, expiresAt } = await bench.link(pro.key, { expiresIn: 3_600 });
    const response = await bench.visit(`${shortCode}+`);
    expectPage(response, 200, 'Link preview');
    expect(response.text).to.include(
      `<a href="${escaped}" rel="noopener noreferrer nofollow">${escaped}</a>`,
    );
    expect(response.text).to.include(`<time datetime="${createdAt}">`);
    expect(response.text).to.include(`<time datetime="${expiresAt ?? ''}">`);
    expect((await bench.visit(`${shortCode}%2B`)).text).to.equal(response.text);
    expect((await bench.visit(`${shortCode}+`, { method: 'HEAD' })).status).to.equal(200);
    await bench.visit(shortCode);
    await bench.expectClicks(shortCode, pro.key, 1);
  });

  it('escapes the destination', async () => {
    const url = `https://example.com/?a="><script>alert('1')</script>&b=</a>`;
    const { text } = await bench.visit(`${await code({ url })}+`);
    expect(text).not.to.match(/<script|'1'|"><s/);
    expect(text.match(/<a /g)).to.have.length(1);
    expect(text).to.include('https://example.com/?a=&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)');
  });

  it('shows the host in punycode', async () => {
    const { text } = await bench.visit(`${await code({ url: 'https://exаmple.com/' })}+`);
    expect(text).to.include('xn--').and.not.to.include('exаmple');
  });

  it('hides the destination of a link with a password or a click limit', async () => {
    for (const body of [{ password: 'long enough' }, { maxClicks: 1 }]) {
      const shortCode = await code(body);
      for (let round = 0; round < 3; round += 1) {
        const response = await bench.visit(`${shortCode}+`);
        expectPage(response, 200, 'Link preview');
        expect(response.text).not.to.include('example.com');
      }
      const visit = await bench.visit(shortCode);
      expect(visit.headers.location).to.equal('maxClicks' in body ? destination : undefined);
    }
  });

  it('is 404 for an unknown link, and 410 for an expired link', async () => {
    expectError(await bench.visit('nothing0+'), {
      status: 404,
      message: 'Short URL not found',
      path: '/nothing0+',
    });
    expectPage(await bench.visit('nothing0+', html), 404, 'Short URL not found');
    for (const path of ['+', 'ab+', 'nothing0++', 'robots.txt+']) {
      expect((await bench.visit(path)).status, path).to.equal(404);
    }
    const used = await code({ maxClicks: 1 });
    await bench.visit(used);
    expectError(await bench.visit(`${used}+`), {
      status: 410,
      message: 'This link has expired',
      path: `/${used}+`,
      errorType: 'EXPIRED',
    });
    expectPage(await bench.visit(`${used}+`, html), 410, 'This link has expired');
  });
});
