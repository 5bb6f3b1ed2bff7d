import { expect } from 'chai';
import { catalogue } from '../../schemas/events/catalogue.js';
import { formatTime } from './format.js';
import { describeEvent, describeHistory, nameOfActor, type HistoryEvent } from './history.js';

const at = '2030-01-02T03:04:05.000Z';
const event = (name: string, data: HistoryEvent['data']): HistoryEvent => ({
  type: `linklog.${name}.v1`,
  time: at,
  actor: 'key_1',
  data,
});

const [a, b, c] = ['https://a.example/', 'https://b.example/', 'https://c.example/'];
const created = event('LinkCreated', {
  ...{ url: a, custom: false, expiresAt: null, maxClicks: null, keyId: 'key_1', tags: ['x'] },
});

/** The changes of the last event. */
const last = (...events: readonly HistoryEvent[]) =>
  describeHistory([created, ...events]).at(-1)?.changes;

describe('the history of a link', () => {
  it('has the values of its creation, without empty ones and identifiers', () => {
    expect(last()).to.deep.equal([
      { field: 'Destination', after: a },
      { field: 'Tags', after: 'x' },
    ]);
  });

  it('shows the value before and after each edit', () => {
    const first = event('LinkEdited', { url: b, maxClicks: 1_000, expiresAt: at });
    expect(last(first)).to.deep.equal([
      { field: 'Destination', before: a, after: b },
      { field: 'Click limit', before: 'none', after: '1,000' },
      { field: 'Expires', before: 'none', after: formatTime(at) },
    ]);
    const next = event('LinkEdited', { url: c, maxClicks: null, forwardQuery: true });
    expect(last(first, event('LinkDisabled', {}), next)).to.deep.equal([
      { field: 'Destination', before: b, after: c },
      { field: 'Click limit', before: '1,000', after: 'none' },
      { field: 'Forward the visitor’s query', before: 'no', after: 'yes' },
    ]);
    expect(last(event('LinkDescribed', { title: 'T', tags: [] }))).to.deep.equal([
      { field: 'Title', before: 'none', after: 'T' },
      { field: 'Tags', before: 'x', after: 'none' },
    ]);
  });

  it('shows redirect rules, passwords, reasons and roles in words', () => {
    const rules = [{ name: 'ios', when: { os: ['iOS'] }, url: b }];
    expect(last(event('LinkEdited', { rules, password: 'set' }))).to.deep.equal([
      { field: 'Redirect rules', before: 'none', after: `ios: iOS → ${b}` },
      { field: 'Password', after: 'set' },
    ]);
    for (const [name, data, change] of [
      ['LinkExpired', { reason: 'clicks' }, { field: 'Reason', after: 'its clicks are used up' }],
      ['LinkBlocked', { reason: 'phishing' }, { field: 'Reason', after: 'phishing' }],
      ['PersonChanged', { role: 'admin' }, { field: 'Role', after: 'Admin' }],
      ['PersonChanged', { source: 'group' }, { field: 'Source', after: 'a group' }],
      ['PersonChanged', { role: 'toString' }, { field: 'Role', after: 'toString' }],
      ['LinkNamed', { unknown: { x: 1 } }, { field: 'unknown', after: '{"x":1}' }],
    ] as const) {
      expect(describeEvent(event(name, data)).changes).to.deep.equal([change]);
    }
  });

  it('leaves out empty values of an event whose earlier values are not known', () => {
    const data = { name: 'N', scopes: ['links:read'], expiresAt: null, ancestors: [] };
    expect(describeEvent(event('ApiKeyCreated', data)).changes).to.deep.equal([
      { field: 'Name', after: 'N' },
      { field: 'Scopes', after: 'links:read' },
    ]);
    const switched = describeEvent(event('MaintenanceSwitched', { on: true }));
    const changes = [{ field: 'On', after: 'yes' }];
    const type = 'linklog.MaintenanceSwitched.v1';
    expect(switched).to.deep.equal({ type, time: at, actor: 'key_1', changes });
  });

  it('names the empty values of an event that has all values after the change', () => {
    const redirects = { rootRedirect: a, notFoundRedirect: null, expiredRedirect: null };
    expect(describeEvent(event('DomainChanged', redirects)).changes).to.deep.equal([
      { field: 'Home page', after: a },
      { field: 'Unknown links', after: 'none' },
      { field: 'Expired links', after: 'none' },
    ]);
    const terms = { name: 'N', plan: null, scopes: null, expiresAt: null };
    expect(describeEvent(event('ApiKeyChanged', terms)).changes).to.deep.equal([
      { field: 'Name', after: 'N' },
      { field: 'Plan', after: 'inherited' },
      { field: 'Scopes', after: 'all' },
      { field: 'Expires', after: 'none' },
    ]);
  });

  it('shows only different values of an event that has all values after the change', () => {
    const terms = { name: 'N', plan: null, scopes: ['links:read'], status: 'inactive' };
    const before = {
      name: 'N',
      plan: 'PRO',
      scopes: ['links:read'],
      status: 'active',
      account: 'a',
    };
    expect(describeEvent(event('ApiKeyChanged', terms), before).changes).to.deep.equal([
      { field: 'Plan', before: 'PRO', after: 'inherited' },
      { field: 'Status', before: 'active', after: 'inactive' },
    ]);
    // Absent values are none.
    const redirects = { rootRedirect: a, notFoundRedirect: null };
    expect(describeEvent(event('DomainChanged', redirects), { by: 'dns' }).changes).to.deep.equal([
      { field: 'Home page', before: 'none', after: a },
    ]);
    expect(describeEvent(event('PersonChanged', {}), { role: 'admin' }).changes).to.deep.equal([]);
    expect(
      describeEvent(event('PersonChanged', { role: 'admin' }), { role: 'viewer' }).changes,
    ).to.deep.equal([{ field: 'Role', before: 'Viewer', after: 'Admin' }]);
    expect(
      describeEvent(event('ApiKeyRotated', { earlierEndAt: at }), terms).changes,
    ).to.deep.equal([{ field: 'Earlier secrets end', after: formatTime(at) }]);
  });

  it('names actors', () => {
    expect(nameOfActor('key_1', { key_1: 'My key' })).to.equal('My key');
    expect(nameOfActor('key_2', { key_1: 'My key' })).to.equal('key_2');
    expect(nameOfActor('operator', {})).to.equal('an operator');
    expect(nameOfActor('toString', {})).to.equal('toString');
  });
});

describe('the fields of events in a history', () => {
  /** The history has neither secrets nor these events. */
  const unnamed = /^(?:passwordHash|hash|tokenHash|secrets?|keyId)$/;
  for (const { name, data } of Object.values(catalogue)) {
    if (['LinkVisited', 'CallsMetered'].includes(name)) continue;
    it(`have a name each, if they are of ${name}`, () => {
      const fields = Object.keys(data.shape).filter((field) => !unnamed.test(field));
      const values = Object.fromEntries(
        fields.map((field) => [field, field === 'rules' ? [] : true]),
      );
      const named = describeEvent(event(name, values)).changes.map(({ field }) => field);
      expect(named.filter((field) => fields.includes(field))).to.deep.equal([]);
    });
  }
});
