import { expect } from 'chai';
import { readLinkStatistics } from '../../../../command-api/statistics/statistics.js';
import { createBatchHandler } from '../../../../projectors/runtime/batch.js';
import { stats } from '../../../../projectors/statistics/projection.js';
import { readStatsQuery, statsQuery } from '../../../../schemas/http/statistics.js';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { newEvent, topicOf, writeEvent } from '../../../../schemas/events/codec.js';
import { spoolSource } from '../../../../schemas/events/envelope.js';
import { topics } from '../../../../schemas/events/topics.js';
import { defaultPlanTable } from '../../../../schemas/plans.js';
import { scopeNames } from '../../../../schemas/scopes.js';
import {
  at,
  blocked,
  created,
  deleted,
  described,
  disabled,
  domainClaimed,
  domainReleased,
  domainVerified,
  edited,
  enabled,
  expired,
  featureSwitched,
  firstVisitRecordOf,
  idOf,
  keyChanged,
  keyCreated,
  keyRevoked,
  keyRotated,
  maintenanceSwitched,
  overrideGranted,
  overrideRevoked,
  recordOf,
  someVisit,
  unblocked,
  visited,
} from '../../../../schemas/testing/events.js';
import type { EventLog } from '../../../event-log/port.js';
import { createLogger } from '../../../platform/logging.js';
import { CliError } from '../../cli/errors.js';
import { keyAsOf } from './key.js';
import { linkAsOf } from './link.js';
import { platformAsOf } from './platform.js';
import { beginningOf } from './read.js';
import { rejection } from '../../../test/support/waiting.js';
import { openTestLog } from '../../../test/support/node.js';
import { databaseFixture } from '../../../test/support/fixtures.js';

/** Splits batches into records, so that state must be kept between batches. */
const piecemeal = (log: EventLog): EventLog => ({
  ...log,
  async *read(...range) {
    for await (const batch of log.read(...range)) {
      for (const record of batch.records) yield { ...batch, records: [record] };
    }
  },
});

describe('audit as-of', () => {
  const database = databaseFixture('lookback', { per: 'test' });
  let log: EventLog;

  beforeEach(async () => {
    const { pool, url } = database;
    const opened = await openTestLog({ pool, url, logger: createLogger('silent') });
    log = piecemeal(opened.log);
  });

  afterEach(async () => {
    await log.close();
  });

  const append = async (...events: readonly LinklogEvent[]): Promise<void> => {
    for (const event of events) {
      await log.append(topicOf(event), [{ key: event.subject, value: writeEvent(event) }]);
    }
  };

  /** A visit of a link without a limit. */
  const spooled = (code: string, sequence: number, seconds: number, bot = false, spool = 'a') =>
    newEvent(
      'LinkVisited',
      { ...someVisit, bot },
      {
        id: idOf(`${spool} ${sequence}`),
        subject: code,
        sequence,
        time: at(seconds),
        source: spoolSource(spool),
      },
    );

  describe('for a link', () => {
    const link = (code: string, seconds: number) => linkAsOf({ log, moment: at(seconds) }, code);

    it('returns its state at each moment, and who had blocked it', async () => {
      await append(
        created('hello', { passwordHash: 'x' }, { account: 'acme', time: at(0) }),
        blocked('hello', 2, { time: at(10), actor: 'alice' }),
        unblocked('hello', 3, { time: at(20), actor: 'bob' }),
        blocked('other', 2),
      );
      await append(created('go.example/hello', {}, { account: 'shop' }));
      expect(await link('go.example/hello', 15)).to.include({
        ...{ shortCode: 'hello', domain: 'go.example', state: 'active', account: 'shop' },
      });
      const { state, ...none } = await link('hello', -1);
      expect([state, none]).to.deep.include('none').and.have.nested.property('[1].madeLater');
      expect(none).to.include({ madeLater: at(0).toISOString() });
      expect(await link('unknown', 5)).to.include({ state: 'none', madeLater: null });
      expect(await link('hello', 0)).to.deep.include({
        asOf: at(0).toISOString(),
        shortCode: 'hello',
        domain: null,
        state: 'active',
        expired: null,
        blocked: null,
        url: 'https://example.com/hello',
        account: 'acme',
        keyId: 'key-1',
        createdAt: at(0).toISOString(),
        hasPassword: true,
        clickCount: 0,
        lastAccessed: null,
      });
      expect(await link('hello', 9.999)).to.include({ state: 'active' });
      expect(await link('hello', 10)).to.deep.include({
        state: 'blocked',
        blocked: { at: at(10).toISOString(), by: 'alice', reason: 'phishing' },
      });
      expect(await link('hello', 20)).to.deep.include({ state: 'active', blocked: null });
    });

    it('expires it at its end, before the event', async () => {
      const expiresAt = at(60).toISOString();
      await append(
        created('brief', { expiresAt }),
        blocked('brief', 2, { time: at(70) }),
        expired('brief', 3, 'time', { time: at(90) }),
        unblocked('brief', 4, { time: at(95) }),
      );
      expect(await link('brief', 59.999)).to.include({ state: 'active', expired: null });
      expect(await link('brief', 60)).to.include({ state: 'expired', expired: 'time' });
      expect(await link('brief', 70)).to.include({ state: 'blocked', expired: 'time' });
      expect(await link('brief', 100)).to.include({ state: 'expired', expired: 'time' });
    });

    it('returns the changes of its owner up to each moment', async () => {
      const later = 'https://example.com/later';
      await append(
        created('mine', { maxClicks: 1, title: 'first', tags: ['a'] }, { time: at(0) }),
        visited('mine', 1, { time: at(5) }),
        expired('mine', 2, 'clicks', { time: at(5) }),
        edited('mine', 3, { url: later, maxClicks: 9, password: 'set' }, { time: at(10) }),
        described('mine', 4, { title: null, note: 'n', tags: [] }, { time: at(20) }),
        disabled('mine', 5, { time: at(30) }),
        enabled('mine', 6, { time: at(40) }),
        edited('mine', 7, { password: 'removed' }, { time: at(50) }),
        deleted('mine', 8, { time: at(60) }),
      );
      const url = 'https://example.com/mine';
      const texts = { title: 'first', note: null, tags: ['a'] };
      expect(await link('mine', 9)).to.deep.include({ state: 'expired', url, ...texts });
      expect(await link('mine', 10)).to.deep.include({
        ...{ state: 'active', expired: null, url: later, maxClicks: 9, clickCount: 1 },
        ...texts,
      });
      expect(await link('mine', 20)).to.deep.include({ title: null, note: 'n', tags: [] });
      expect(await link('mine', 30)).to.include({ state: 'disabled' });
      expect(await link('mine', 40)).to.include({ state: 'active' });
      expect(await link('mine', 60)).to.include({ state: 'deleted', url: later });
    });

    it('counts visits without repeats, and bots separately', async () => {
      await append(
        created('hello', {}),
        spooled('hello', 1, 10),
        spooled('elsewhere', 2, 10),
        spooled('hello', 3, 30, true),
        spooled('hello', 1, 10, false, 'b'),
        // Repeats, and a visit that another spool ships late.
        spooled('hello', 1, 10),
        spooled('hello', 3, 30, true),
        spooled('hello', 4, 40),
        spooled('hello', 2, 20, false, 'b'),
      );
      expect(await link('hello', 35)).to.include({
        clickCount: 3,
        botCount: 1,
        lastAccessed: at(20).toISOString(),
      });
      expect(await link('hello', 40)).to.include({ clickCount: 4, botCount: 1 });
    });

    it('matches the statistics projection', async () => {
      const noonOf = (day: number): number => day * 86_400;
      const visit = (sequence: number, day: number, referrer: string | null, bot = false) => {
        const event = spooled('hello', sequence, noonOf(day), bot);
        const visitor = String(sequence % 70).padStart(16, 'v');
        return { ...event, data: { ...event.data, referrer, visitor, country: 'NP' } };
      };
      const visits = Array.from({ length: 230 }, (_, index) =>
        visit(index + 1, index < 150 ? 0 : 1, `site-${index % 150}`, index % 10 === 0),
      );
      // The second one is shipped three days late: its visitor is not distinguished any more.
      const later = [visit(231, 3, null), visit(232, 0, 'site-149'), visit(233, 9, 'site-1')];
      const records = [...visits, ...visits.slice(-20), ...later].map(recordOf);
      // A visit of the first event version.
      const first = firstVisitRecordOf(visited('hello', null, { time: at(noonOf(3)) }));
      await append(created('hello', {}));
      await log.append(topics.visits.name, [...records, first]);
      const handle = createBatchHandler({
        ...{ pool: database.pool, projection: stats, log },
        logger: createLogger('silent'),
      });
      for (const { partition, first: from, next } of await log.ranges(topics.visits.name)) {
        for await (const batch of log.read(topics.visits.name, partition, from, next)) {
          await handle(batch);
        }
      }
      for (const day of [0, 1, 3]) {
        const moment = noonOf(day) + 1;
        const query = {
          include: 'all',
          limit: '200',
          from: '2026-05-01',
          to: at(moment + 900).toISOString(),
        };
        const request = readStatsQuery(statsQuery, query, at(0));
        if ('refused' in request) throw new Error(request.refused);
        const { ofPeriod } = await readLinkStatistics(database.pool, 'hello', request);
        const { period, bots, timeseries, ...rest } = ofPeriod;
        const snapshot = await link('hello', moment);
        expect(timeseries, `day ${day}`).to.be.an('array');
        expect(snapshot).to.deep.include({
          clickCount: period.clickCount,
          botCount: bots,
          ...rest,
        });
      }
      const snapshot = await link('hello', noonOf(3));
      const referrers = 'referrers' in snapshot ? snapshot.referrers : [];
      expect(referrers).to.deep.include({ value: null, clicks: 2 });
      expect(referrers.at(-1)?.value).to.equal('(other)');
    });

    it('expires at its click limit', async () => {
      await append(
        created('two', { maxClicks: 2 }),
        visited('two', 1, { time: at(1) }),
        visited('two', 2, { time: at(2) }),
        visited('two', 2, { time: at(2) }),
        expired('two', 2, 'clicks', { time: at(2) }),
      );
      expect(await link('two', 1)).to.include({ state: 'active', clickCount: 1, maxClicks: 2 });
      expect(await link('two', 2)).to.include({
        state: 'expired',
        expired: 'clicks',
        clickCount: 2,
      });
    });

    it('reads only the partitions of its code, and reports offsets and unreadable records', async () => {
      await append(created('hello', {}), spooled('hello', 1, 10));
      await log.append(topics.links.name, [{ key: 'hello', value: 'not an event' }]);
      const progress: (readonly [number, number])[] = [];
      const snapshot = await linkAsOf(
        { log, moment: at(20), progress: (done, total) => progress.push([done, total]) },
        'hello',
      );
      expect(snapshot.unreadable).to.equal(1);
      expect(Object.values(snapshot.readUpTo).map((ends) => Object.values(ends))).to.deep.equal([
        [2],
        [1],
      ]);
      expect(progress.at(-1)).to.deep.equal([3, 3]);
    });
  });

  describe('for a key', () => {
    const key = (seconds: number, name = 'website') =>
      keyAsOf({ log, moment: at(seconds) }, name, defaultPlanTable);

    const metered = (sequence: number, minute: number, calls: number) =>
      newEvent(
        'CallsMetered',
        { minute: at(minute * 60).toISOString(), calls },
        { id: idOf(sequence), subject: 'key-1', sequence, time: at(minute * 60 + 65) },
      );

    it('returns plan, status, and who changed it last', async () => {
      await append(
        keyCreated('key-1', {}, { actor: 'alice', time: at(0) }),
        keyCreated('key-2', { name: 'twin' }),
        keyCreated('key-3', { name: 'twin' }),
        keyChanged(
          'key-1',
          2,
          { name: 'shop', plan: 'PRO', status: 'suspended' },
          { actor: 'bob', time: at(10) },
        ),
        keyRevoked('key-1', 3, { actor: 'carol', time: at(20) }),
      );
      expect(await key(5)).to.deep.include({
        id: 'key-1',
        plan: 'HOBBY',
        account: 'acme',
        status: 'active',
        lastChange: { at: at(0).toISOString(), by: 'alice' },
        calls: { used: 0, usedAtMost: 0, limit: 25_000, exhausted: false },
      });
      expect(await key(10, 'shop')).to.include({ id: 'key-1', plan: 'PRO', status: 'suspended' });
      expect(await key(20, 'key-1')).to.deep.include({
        status: 'revoked',
        lastChange: { at: at(20).toISOString(), by: 'carol' },
      });
      expect(JSON.stringify(await key(5))).to.not.match(/hash|abab/);
      expect(await rejection(key(15)))
        .to.be.instanceOf(CliError)
        .and.match(/no key had the id/);
      expect(await rejection(key(15, 'twin'))).to.match(
        /2 keys .* use one of the ids key-2, key-3$/,
      );
    });

    it('returns scopes, expiry and changes of a derived key', async () => {
      const expiresAt = at(1_000).toISOString();
      const child = { name: 'child', plan: null, expiresAt };
      const derived = { ...child, ancestors: ['key-1'], scopes: [...scopeNames] };
      await append(
        keyCreated('key-1', { plan: 'PRO' }, { time: at(0) }),
        keyCreated('key-2', derived, { time: at(1) }),
        keyChanged(
          'key-2',
          2,
          { ...child, scopes: ['stats:read'], status: 'inactive' },
          { time: at(10), actor: 'key-1' },
        ),
        keyRotated(
          'key-2',
          3,
          { hash: 'cd'.repeat(32), earlierEndAt: at(30).toISOString() },
          { time: at(20), actor: 'key-2' },
        ),
      );
      const root = { id: 'key-2', plan: 'PRO', rootId: 'key-1', expiresAt };
      expect(await key(1, 'child')).to.deep.include({
        ...root,
        ...{ scopes: scopeNames, status: 'active' },
      });
      expect(await key(10, 'child')).to.deep.include({
        ...root,
        ...{ scopes: ['stats:read'], status: 'inactive' },
        lastChange: { at: at(10).toISOString(), by: 'key-1' },
      });
      const rotated = await key(20, 'child');
      expect(rotated.lastChange).to.deep.equal({ at: at(20).toISOString(), by: 'key-2' });
      expect(JSON.stringify(rotated)).to.not.match(/hash|abab|cdcd/);
    });

    it('counts the usage of the month, and calls by minute', async () => {
      await append(
        keyCreated('key-1', { plan: 'FREE' }),
        created('one', {}, { time: at(1) }),
        created('two', {}, { time: at(100) }),
        created('two', {}, { time: at(100) }),
        created('stranger', { keyId: 'key-2' }),
        created('last-month', {}, { time: at(-30 * 86_400) }),
        metered(1, 0, 1_990),
        metered(1, 0, 1_990),
        metered(2, 1, 10),
        newEvent(
          'QrRendered',
          { code: 'one' },
          { id: idOf('qr'), subject: 'key-1', sequence: 3, time: at(200) },
        ),
      );
      const calls = { limit: 2_000 };
      expect(await key(30)).to.deep.include({
        month: '2026-05-01',
        calls: { ...calls, used: 0, usedAtMost: 1_990, exhausted: false },
        links: { used: 1, usedAtMost: 1, limit: 35, exhausted: false },
      });
      // The minute is over; its event follows five seconds later.
      expect(await key(60)).to.deep.include({
        calls: { ...calls, used: 1_990, usedAtMost: 2_000, exhausted: null },
      });
      expect(await key(120)).to.deep.include({
        calls: { ...calls, used: 2_000, usedAtMost: 2_000, exhausted: true },
        links: { used: 2, usedAtMost: 2, limit: 35, exhausted: false },
        qrCodes: { used: 0, usedAtMost: 0, limit: 35, exhausted: false },
      });
      expect(await key(200)).to.have.nested.property('qrCodes.used', 1);
      expect(await key(30 * 86_400)).to.deep.include({
        month: '2026-06-01',
        calls: { ...calls, used: 0, usedAtMost: 0, exhausted: false },
      });
    });
  });

  describe('for the platform', () => {
    const platform = (seconds: number) => platformAsOf({ log, moment: at(seconds) });

    it('returns switches, overrides, domains and keys', async () => {
      await append(
        keyCreated('key-1', {}, { time: at(0) }),
        keyCreated('key-2', { name: 'late' }, { time: at(50) }),
        featureSwitched(1, 'passwords', false, { time: at(10) }),
        maintenanceSwitched(2, true, { time: at(20) }),
        overrideGranted('admin', 1, 'acme', { time: at(10) }),
        overrideRevoked('admin', 2, { time: at(20) }),
        domainClaimed('go.example', 1, 'token', { time: at(5) }),
        domainVerified('go.example', 2, { time: at(10) }),
        domainReleased('go.example', 3, { time: at(20) }),
        domainClaimed('b.example', 1, 'token', { time: at(10) }),
      );
      const early = await platform(10);
      expect(early).to.deep.include({
        maintenance: false,
        overrides: [{ alias: 'admin', account: 'acme' }],
        domains: [{ domain: 'go.example', account: 'acme' }],
        links: { active: 0, expired: 0, blocked: 0 },
      });
      expect(early.features).to.include({ passwords: false, aliases: true });
      expect(early.keys.map(({ name }) => name)).to.deep.equal(['website']);
      expect(JSON.stringify(early)).to.not.match(/hash|abab/);
      const late = await platform(50);
      expect(late).to.deep.include({ maintenance: true, overrides: [], domains: [] });
      expect(late.keys).to.have.length(2);
    });

    it('counts links by state, without repeats', async () => {
      const codes = Array.from({ length: 40 }, (_, index) => `code-${index}`);
      await append(
        ...codes.map((code, index) =>
          created(code, {
            expiresAt: index < 8 ? at(60).toISOString() : null,
            maxClicks: index >= 8 && index < 12 ? 1 : null,
          }),
        ),
        ...codes.map((code) => created(code, {})),
        ...codes.slice(6, 10).map((code) => blocked(code, 2, { time: at(30) })),
        ...codes
          .slice(8, 12)
          .map((code, index) => expired(code, index < 2 ? 3 : 2, 'clicks', { time: at(40) })),
        unblocked('code-9', 4, { time: at(50) }),
        blocked('code-9', 2, { time: at(30) }),
      );
      const links = async (seconds: number) => (await platform(seconds)).links;
      expect(await links(0)).to.deep.equal({ active: 40, expired: 0, blocked: 0 });
      expect(await links(30)).to.deep.equal({ active: 36, expired: 0, blocked: 4 });
      expect(await links(40)).to.deep.equal({ active: 34, expired: 2, blocked: 4 });
      expect(await links(50)).to.deep.equal({ active: 34, expired: 3, blocked: 3 });
      expect(await links(60)).to.deep.equal({ active: 28, expired: 9, blocked: 3 });
      // The same with several slices of each partition.
      const sliced = await platformAsOf({ log, moment: at(60) }, 3);
      expect(sliced.links).to.deep.equal({ active: 28, expired: 9, blocked: 3 });
    });
  });

  it('returns the beginning of the log', async () => {
    expect(await beginningOf(log)).to.equal(null);
    await append(featureSwitched(1, 'qr', false, { time: at(5) }), keyCreated('key-1', {}));
    expect(await beginningOf(log)).to.equal(at(0).toISOString());
  });
});
