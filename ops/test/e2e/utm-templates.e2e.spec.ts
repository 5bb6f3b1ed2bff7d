import { expect } from 'chai';
import type { UtmTemplateList, UtmTemplateResponse } from '../../../schemas/http/utm-templates.js';
import { eventually } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import { keyFixture, lacking, sharedProduct, timestampPattern } from './harness.js';

describe('/v2/utm-templates', () => {
  const bench = sharedProduct();
  const { page: events } = eventPages(bench);
  const account = 'utm-templates';
  const pro = keyFixture(bench, 'PRO', { account });
  const other = keyFixture(bench, 'PRO', { account: `${account}-other` });

  const call = (method: string, name: string, body?: unknown, key = pro.key) =>
    bench.api(`/v2/utm-templates/${name}`, key, { method, ...(body !== undefined && { body }) });
  const put = async (name: string, body: unknown, key?: string): Promise<UtmTemplateResponse> => {
    const response = await call('PUT', name, body, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as UtmTemplateResponse;
  };
  const list = async (key = pro.key): Promise<UtmTemplateList['templates']> =>
    ((await bench.api('/v2/utm-templates', key)).json() as UtmTemplateList).templates;

  it('are saved, replaced as a whole, listed by name and deleted, and their events are in the feed', async () => {
    const first = await put('News%2Fletter%20u%CC%88', { source: ' a&b ', medium: null, typo: 1 });
    expect(first.updatedAt).to.match(timestampPattern);
    const { updatedAt } = first;
    expect(first).to.deep.equal({ name: 'News/letter ü', source: 'a&b', updatedAt });
    expect(await put('News%2Fletter%20%C3%BC', { source: 'a&b' })).to.deep.equal(first);
    const second = await put('News%2Fletter%20%C3%BC', { campaign: '春 🎉', content: 'x' });
    expect(second).to.include({ campaign: '春 🎉', content: 'x' }).and.not.have.property('source');
    const before = await put('A', { term: 'x'.repeat(200) });
    expect(await list()).to.deep.equal([before, second]);
    expect((await call('DELETE', 'News%2Fletter%20u%CC%88')).status).to.equal(204);
    expect(await list()).to.deep.equal([before]);
    await eventually('three events are in the feed', async () => {
      const found = await events(pro.key, 'types=UtmTemplateSaved,UtmTemplateDeleted&limit=1000');
      const own = found.events.filter(({ subject }) => subject === `${account}:News/letter ü`);
      if (own.length < 3) return false;
      const types = own.map(({ type, sequence }) => [type.split('.')[1], Number(sequence)]);
      expect(types).to.deep.equal([
        ...[
          ['UtmTemplateSaved', 1],
          ['UtmTemplateSaved', 2],
        ],
        ['UtmTemplateDeleted', 3],
      ]);
      return true;
    });
  });

  it('are refused with values or names outside their bounds', async () => {
    const valid = { source: 'x' };
    const unnamed = 'name must have 1 to 50 characters, none of them control characters';
    const nothing = 'Give at least one of source, medium, campaign, term and content';
    for (const [name, body, message] of [
      ['x', {}, nothing],
      ['x', { source: null, other: 'x' }, nothing],
      ['x', [], nothing],
      ['x', { term: '' }, 'term must have 1 to 200 characters'],
      ['x', { medium: 'x'.repeat(201) }, 'medium must have 1 to 200 characters'],
      ['x', { content: 'a\nb' }, 'content must have 1 to 200 characters'],
      ['x', { source: '\ud800' }, 'source must have 1 to 200 characters'],
      ['x'.repeat(51), valid, unnamed],
      ['%20', valid, unnamed],
      ['a%00b', valid, unnamed],
      ['a%0Ab', valid, unnamed],
    ] as const) {
      const response = await call('PUT', name, body);
      expect(response.status, JSON.stringify([name, body])).to.equal(400);
      expect((response.json() as { message: string }).message).to.include(message);
    }
    expect((await call('DELETE', 'unknown')).json()).to.include({
      ...{ statusCode: 404, message: 'UTM template not found' },
    });
    expect((await call('DELETE', 'a%00b')).status).to.equal(404);
  });

  it('are seen and changed by their account only, with the scopes of links', async () => {
    await put('mine', { source: 'x' });
    expect(await list(other.key)).to.deep.equal([]);
    expect((await call('DELETE', 'mine', undefined, other.key)).status).to.equal(404);
    await call('PUT', 'mine', { source: 'theirs' }, other.key);
    expect((await list()).find(({ name }) => name === 'mine')).to.include({ source: 'x' });
    const reader = await bench.key('PRO', { account, scopes: ['links:read'] });
    expect(await list(reader.key)).to.deep.equal(await list());
    const refused = await call('PUT', 'mine', { source: 'y' }, reader.key);
    expect(refused.json()).to.deep.equal(lacking('links:write'));
  });

  it('are at most 100 for each account', async () => {
    const { key } = await bench.key('PRO', { account: `${account}-full` });
    for (let index = 0; index < 100; index += 10) {
      const names = Array.from({ length: 10 }, (_, offset) => `t${index + offset}`);
      await Promise.all(names.map((name) => put(name, { source: 'x' }, key)));
    }
    expect(await list(key)).to.have.length(100);
    const refused = await call('PUT', 'one-more', { source: 'x' }, key);
    expect(refused.json()).to.include({
      ...{ statusCode: 400, message: 'At most 100 UTM templates an account' },
    });
  });
});
