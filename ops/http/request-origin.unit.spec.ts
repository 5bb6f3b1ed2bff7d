import { expect } from 'chai';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { requestOrigin } from './request-origin.js';

const proxy = '127.0.0.9';

const originOf = (headers: IncomingHttpHeaders, remoteAddress = '127.0.0.1'): string | null => {
  const request = { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
  return requestOrigin(request, (address) => address === proxy);
};

describe('platform: the origin of a request', () => {
  const written = [
    ['localhost:8080', 'http://localhost:8080'],
    ['Example.COM:80', 'http://example.com'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['bücher.example', 'http://xn--bcher-kva.example'],
  ] as const;
  for (const [host, origin] of written) {
    it(`of the Host ${host} is ${origin}`, () => {
      expect(originOf({ host })).to.equal(origin);
    });
  }

  const host = 'api:8080';
  const forwarded = { 'x-forwarded-host': 'go.example.com', 'x-forwarded-proto': 'https' };

  it('is from the headers of a trusted proxy, each of which is optional', () => {
    expect(originOf({ host, ...forwarded }, proxy)).to.equal('https://go.example.com');
    expect(originOf({ host, 'x-forwarded-proto': 'https' }, proxy)).to.equal('https://api:8080');
    expect(originOf({ host }, proxy)).to.equal('http://api:8080');
  });

  it('is from the first of several proxies', () => {
    const headers = {
      'x-forwarded-host': 'go.example.com, api',
      'x-forwarded-proto': 'https,http',
    };
    expect(originOf({ host, ...headers }, proxy)).to.equal('https://go.example.com');
  });

  it('ignores the headers of other clients', () => {
    expect(originOf({ host, ...forwarded })).to.equal('http://api:8080');
  });

  it('is unknown if the host or scheme is invalid', () => {
    expect(originOf({})).to.equal(null);
    for (const invalid of ['', 'a b', 'a/b', 'user@a', 'a?b', 'a#b', 'a\\b', 'a:99999']) {
      expect(originOf({ host: invalid }), invalid).to.equal(null);
    }
    expect(originOf({ host, 'x-forwarded-proto': 'javascript' }, proxy)).to.equal(null);
  });
});
