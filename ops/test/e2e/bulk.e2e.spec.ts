import { expect } from 'chai';
import { concurrently, type HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { expectBody, expectError, keyFixture, lacking, monthly, sharedProduct } from './harness.js';

const path = '/v2/links/bulk';
const unknown = 'Short URL not found';

interface Result {
  readonly index: number;
  readonly success: boolean;
  readonly shortCode: string;
  readonly statusCode?: number;
}

const resultsOf = (response: HttpResponse): readonly Result[] => {
  expect(response.status, response.text).to.equal(200);
  return (response.json() as { results: readonly Result[] }).results;
};

describe('POST /v2/links/bulk', () => {
  const bench = sharedProduct();
  const account = 'bulk';
  const pro = keyFixture(bench, 'PRO', { account });

  const links = (count: number, body: object = {}): Promise<readonly string[]> =>
    concurrently(count, async () => (await bench.link(pro.key, { ...body })).shortCode);
  const bulk = (
    key: string,
    shortCodes: readonly string[],
    change: object,
  ): Promise<HttpResponse> =>
    bench.api(path, key, { method: 'POST', body: { shortCodes, change } });
  const failed = (
    index: number,
    shortCode: string,
    statusCode: number,
    message: string,
  ): object => ({
    ...{ index, success: false, shortCode, statusCode, message },
  });

  it('takes precedence over a short code: other methods get 405', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const response = await bench.api(path, pro.key, { method });
      expectError(response, { status: 405, message: 'Method Not Allowed', path, method });
      expect(response.headers.allow).to.equal('POST');
    }
  });

  it('changes each link separately, and returns results in the order of the request', async () => {
    const [first = '', deleted = '', full = ''] = await links(3, { tags: ['old', 'kept'] });
    const tags = Array.from({ length: 20 }, (_, index) => `tag ${index}`);
    await bench.change(full, pro.key, { tags });
    await bench.api(`/v2/links/${deleted}`, pro.key, { method: 'DELETE' });
    const { key: other } = await bench.key('PRO', { account: 'bulk-other' });
    const { shortCode: theirs } = await bench.link(other);
    const codes = ['no code!', first, deleted, full, theirs];
    const change = { addTags: ['new'], removeTags: ['old'], disabled: true };
    const results = resultsOf(await bulk(pro.key, codes, change));
    const details = (await bench.api(`/v2/links/${first}`, pro.key)).json() as object;
    expect(details).to.deep.include({ tags: ['kept', 'new'], status: 'disabled', version: 3 });
    expect(results).to.deep.equal([
      failed(0, 'no code!', 404, unknown),
      { index: 1, success: true, ...details },
      failed(2, deleted, 410, 'This link has been deleted'),
      failed(
        ...([3, full, 400] as const),
        'tags must be at most 20 texts of 1 to 50 characters, without commas and control characters',
      ),
      failed(4, theirs, 404, unknown),
    ]);
    await eventuallyPasses(async () => {
      expect((await bench.visit(first)).json()).to.include({ errorType: 'DISABLED' });
    });
  });

  it('shows neither clicks nor texts to a key without links:read', async () => {
    const [code = ''] = await links(1, { title: 'Secret', tags: ['a'] });
    const { key: writer } = await bench.key('PRO', { account, scopes: ['links:write'] });
    expect(resultsOf(await bulk(writer, [code, 'unknown'], { disabled: true }))).to.deep.equal([
      {
        ...{ index: 0, success: true, shortCode: code, domain: null },
        ...{ version: 2, status: 'disabled' },
      },
      failed(1, 'unknown', 404, unknown),
    ]);
  });

  it('replaces tags, enables and deletes 100 links, on the edge too', async () => {
    const codes = await links(100);
    for (const [change, expected] of [
      [
        { tags: ['a'], disabled: true },
        { tags: ['a'], status: 'disabled' },
      ],
      [
        { tags: null, disabled: false },
        { tags: [], status: 'active', version: 5 },
      ],
      [{ delete: true }, { status: 'deleted', version: 6 }],
      [{ delete: true }, { status: 'deleted', version: 6 }],
    ] as const) {
      const results = resultsOf(await bulk(pro.key, codes, change));
      expect(results.map(({ shortCode }) => shortCode)).to.deep.equal(codes);
      for (const result of results) expect(result).to.deep.include({ success: true, ...expected });
    }
    await eventuallyPasses(async () => {
      const responses = await Promise.all(codes.map((code) => bench.visit(code)));
      expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([410]));
    });
  });

  it('costs one monthly call per code and one call of the minute, also if it is rejected', async () => {
    const { key } = await bench.key('PRO', { account });
    const response = await bulk(key, [...(await links(2)), 'no code!'], { disabled: true });
    expect(resultsOf(response).map(({ success }) => success)).to.deep.equal([true, true, false]);
    expect(response.headers['x-ratelimit-remaining']).to.equal('4999');
    expect((await bench.usage(key)).calls).to.equal(3);
    expectError(await bulk(key, ['a-code', 'a-code'], { delete: true }), {
      ...{ status: 400, message: 'shortCodes must be 1 to 100 texts, none of them twice' },
      ...{ path, method: 'POST' },
    });
    const nothing = await bulk(key, ['a-code', 'b-code'], {});
    expect(nothing.json()).to.include({ statusCode: 400, message: 'Nothing to change' });
    expect((await bench.usage(key)).calls).to.equal(5);
    const { key: reader } = await bench.key('PRO', { account, scopes: ['links:read'] });
    expectBody(await bulk(reader, ['a-code'], { delete: true }), 403, lacking('links:write'));
  });

  it('rejects exactly the codes beyond the monthly limit, also of concurrent requests', async () => {
    const { key } = await bench.key('FREE', { account });
    const { shortCode } = await bench.link(key);
    const codes = [shortCode, ...Array.from({ length: 99 }, (_, index) => `unknown-${index}`)];
    const send = () => bulk(key, codes, { addTags: ['x'] });
    const responses: HttpResponse[] = [];
    // Fewer concurrent ones are not rejected by a slow machine.
    for (let time = 0; time < 17; time += 1) responses.push(await send());
    responses.push(...(await concurrently(8, send)));
    const message = 'Monthly API call limit reached.';
    // First, because any other response, such as a 503, costs a call too.
    for (const response of responses) {
      if (response.status !== 200) expectBody(response, 429, monthly(message, 2_000));
      else {
        const left = resultsOf(response).filter(({ statusCode }) => statusCode === 429);
        const first = codes.length - left.length;
        expect(left).to.deep.equal(
          codes.slice(first).map((code, at) => ({
            ...{ index: first + at, success: false, shortCode: code },
            ...monthly(message, 2_000),
          })),
        );
      }
    }
    const passed = responses.filter(({ status }) => status === 200);
    const spent = passed.flatMap(resultsOf).filter(({ statusCode }) => statusCode !== 429);
    // One call created the link.
    expect(spent).to.have.lengthOf(1_999);
    expect(await bench.usage(key)).to.include({ calls: 2_000 });
  });
});
