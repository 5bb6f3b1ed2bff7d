import { expect } from 'chai';
import { concurrently, type HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { expectBody, expectError, keyFixture, lacking, sharedProduct } from './harness.js';

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

  it('deletes links repeatedly and restores them, on the edge too', async () => {
    const codes = await links(3);
    for (let time = 0; time < 2; time += 1) {
      const results = resultsOf(await bulk(pro.key, codes, { delete: true }));
      expect(results.map(({ shortCode }) => shortCode)).to.deep.equal(codes);
      for (const result of results) {
        expect(result).to.include({ success: true, status: 'deleted', version: 2 });
      }
    }
    await eventuallyPasses(async () => {
      for (const code of codes) expect((await bench.visit(code)).status).to.equal(410);
    });
    const restored = resultsOf(await bulk(pro.key, codes, { restore: true }));
    for (const result of restored) {
      expect(result).to.include({ success: true, status: 'active', version: 3 });
    }
    await eventuallyPasses(async () => {
      for (const code of codes) expect((await bench.visit(code)).status).to.equal(302);
    });
  });

  it('changes only links that have the required version', async () => {
    const [same = '', changed = ''] = await links(2);
    await bench.change(changed, pro.key, { title: 'theirs' });
    const send = (versions: readonly number[]): Promise<HttpResponse> => {
      const body = { shortCodes: [same, changed], versions, change: { disabled: true } };
      return bench.api(path, pro.key, { method: 'POST', body });
    };
    const [first, second] = resultsOf(await send([1, 1]));
    expect(first).to.include({ success: true, version: 2, status: 'disabled' });
    expect(second).to.deep.equal(failed(1, changed, 412, 'The link was changed meanwhile'));
    for (const versions of [[2], [0, 1], [1, 2, 3]]) {
      expectError(await send(versions), {
        ...{
          status: 400,
          message: 'versions must have a positive whole number for each short code',
        },
        ...{ path, method: 'POST' },
      });
    }
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
});
