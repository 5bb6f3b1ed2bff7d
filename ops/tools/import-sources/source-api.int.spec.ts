import { expect } from 'chai';
import { z } from 'zod';
import { CliError } from '../cli/errors.js';
import type { SourceApiOptions } from './source-api.js';
import { startApiServer, type ApiReply, type ApiServer } from './testing/api-server.js';

const schema = z.object({ links: z.array(z.string()) });

const found: ApiReply = { body: { links: ['a'] } };

describe('CLI: requests to another service', () => {
  let server: ApiServer;
  let replies: ApiReply[];

  beforeEach(async () => {
    replies = [];
    server = await startApiServer(() => replies.shift() ?? found);
  });

  afterEach(() => {
    server.close();
  });

  const get = (options: Partial<SourceApiOptions> = {}) =>
    server.connect(options).get('/links', { page: '1', domain: null }, schema);

  const failure = async (options: Partial<SourceApiOptions> = {}): Promise<[string, string]> => {
    try {
      await get(options);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return [error.code, error.message.replaceAll(server.host, 'HOST')];
    }
    throw new Error('the call succeeded');
  };

  it('sends the key and the parameters to the address, which can have a path', async () => {
    const headers: unknown[] = [];
    const other = await startApiServer((request) => {
      headers.push(request.headers['x-api-key'], request.headers.accept);
      return found;
    });
    try {
      await other
        .connect({ url: new URL(`http://${other.host}/short/?x=1`) })
        .get('/links', { page: '1', domain: null, tag: 'a&b' }, schema);
      expect(other.requests).to.deep.equal(['/short/links?page=1&tag=a%26b']);
      expect(headers).to.deep.equal(['the-key', 'application/json']);
    } finally {
      other.close();
    }
  });

  it('repeats a request after 429, 5xx, a reset connection and a cut response', async () => {
    const soon = new Date(Date.now() + 2_000).toUTCString();
    replies = [
      { status: 429, headers: { 'Retry-After': '0' } },
      { status: 503, headers: { 'Retry-After': '1' } },
      { status: 429, headers: { 'Retry-After': soon } },
      { status: 500, body: 'a page of HTML' },
      (response) => response.destroy(),
    ];
    expect(await get()).to.deep.equal({ links: ['a'] });
    replies = [
      (response) => {
        response.writeHead(200, { 'Content-Length': '99' }).write('{', () => response.destroy());
      },
    ];
    expect(await get()).to.deep.equal({ links: ['a'] });
    for (const [index, reason] of [
      ...['returned HTTP 429', 'returned HTTP 503', 'returned HTTP 429', 'returned HTTP 500'],
      ...['failed: [^;]+', 'failed: [^;]+'],
    ].entries()) {
      expect(server.notices[index]).to.match(
        new RegExp(`^HOST/links ${reason}; trying again in \\d s$`),
      );
    }
    expect(server.notices).to.have.length(6);
  });

  it('fails after six attempts, and immediately if Retry-After is too long', async () => {
    replies = Array.from({ length: 9 }, () => ({ status: 502 }));
    expect(await failure()).to.deep.equal(['BAD_RESPONSE', 'HOST/links returned HTTP 502']);
    expect(server.requests).to.have.length(6);
    replies = [{ status: 429, headers: { 'Retry-After': '601' } }];
    expect(await failure()).to.deep.equal(['BAD_RESPONSE', 'HOST/links returned HTTP 429']);
    expect(server.requests).to.have.length(7);
  });

  it('repeats a request that gets no response in time', async () => {
    replies = [() => undefined];
    expect(await get({ timeoutMs: 200 })).to.deep.equal({ links: ['a'] });
    expect(server.notices).to.deep.equal([
      'HOST/links did not respond within 0.2 s; trying again in 1 s',
    ]);
  });

  it('does not repeat a request that the service refused', async () => {
    const refusals: readonly (readonly [ApiReply, string, string])[] = [
      [{ status: 401 }, 'REFUSED', 'HOST refused the key (HTTP 401)'],
      [{ status: 403 }, 'REFUSED', 'HOST/links returned HTTP 403'],
      [{ status: 404 }, 'BAD_RESPONSE', 'HOST/links returned HTTP 404'],
      [
        { status: 301, headers: { Location: '/other' } },
        'BAD_RESPONSE',
        'HOST/links returned HTTP 301, a redirect: --url must be the address of the service itself',
      ],
      [{ body: '<html>' }, 'BAD_RESPONSE', 'the response of HOST/links is not of the service'],
    ];
    for (const [reply, code, message] of refusals) {
      replies = [reply];
      expect(await failure()).to.deep.equal([code, message]);
    }
    replies = [{ body: { links: [5] } }];
    const [, message] = await failure();
    expect(message).to.match(/^the response of HOST\/links is not of the service \(links\.0: /);
    expect(server.requests).to.have.length(refusals.length + 1);
  });

  it('fails if the response is too long', async () => {
    replies = [{ body: ' '.repeat(32_000_001) }];
    expect(await failure()).to.deep.equal([
      'BAD_RESPONSE',
      'HOST/links returned more than 32000000 bytes',
    ]);
  });

  it('fails with the reason of the signal, in a request and in a pause', async () => {
    const reason = new CliError('INTERRUPTED', 'stopped');
    const controller = new AbortController();
    const { signal } = controller;
    replies = [{ status: 429, headers: { 'Retry-After': '600' } }];
    const pausing = failure({
      signal,
      report: () => {
        controller.abort(reason);
      },
    });
    expect(await pausing).to.deep.equal(['INTERRUPTED', 'stopped']);
    const second = new AbortController();
    replies = [
      () => {
        second.abort(reason);
      },
    ];
    expect(await failure({ signal: second.signal })).to.deep.equal(['INTERRUPTED', 'stopped']);
  });
});
