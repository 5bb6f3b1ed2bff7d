import { expect } from 'chai';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { newEvent, topicOf } from '../../../../schemas/events/codec.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { defaultPlanTable } from '../../../../schemas/plans.js';
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
  expired,
  featureSwitched,
  idOf,
  keyChanged,
  keyCreated,
  keyRevoked,
  maintenanceSwitched,
  overrideGranted,
  overrideRevoked,
  recordOf,
  rendered,
  someUtmTemplate,
  spooledVisit,
  unblocked,
  utmTemplateDeleted,
  utmTemplateSaved,
  visited,
} from '../../../../schemas/testing/events.js';
import type { EventLog, NewRecord } from '../../../event-log/port.js';
import { rejection } from '../../../test/support/waiting.js';
import { CliError } from '../../cli/errors.js';
import { keyAsOf } from './key.js';
import { linkAsOf } from './link.js';
import { platformAsOf } from './platform.js';
import { beginningOf } from './read.js';
import { memoryLog } from './testing/memory-log.js';

describe('audit as-of', () => {
  let log: EventLog;
  let appendRecord: (topic: TopicName, record: NewRecord) => void;

  beforeEach(() => {
    ({ log, append: appendRecord } = memoryLog());
  });

  const append = (...events: readonly LinklogEvent[]): void => {
    for (const event of events) appendRecord(topicOf(event), recordOf(event));
  };

  const timeAt = (seconds: number): string => at(seconds).toISOString();

  describe('for a link', () => {
    const link = (code: string, seconds: number) => linkAsOf({ log, moment: at(seconds) }, code);

    const spooled = (code: string, sequence: number, seconds: number, bot = false, spool = 'a') =>
      spooledVisit(code, { sequence, time: at(seconds), bot, spool });

    it('returns its state at each moment, and who had blocked it', async () => {
      append(
        created('hello', { passwordHash: 'x' }, { account: 'acme', time: at(0) }),
        blocked('hello', 2, { time: at(10), actor: 'alice' }),
        unblocked('hello', 3, { time: at(20), actor: 'bob' }),
        blocked('other', 2),
        created('go.example/hello', {}, { account: 'shop' }),
      );
      expect(await link('go.example/hello', 15)).to.include({
        ...{ shortCode: 'hello', domain: 'go.example', state: 'active', account: 'shop' },
      });
      expect(await link('hello', -1)).to.include({ state: 'none', madeLater: timeAt(0) });
      expect(await link('unknown', 5)).to.include({ state: 'none', madeLater: null });
      expect(await link('hello', 0)).to.deep.include({
        ...{ asOf: timeAt(0), shortCode: 'hello', domain: null, state: 'active' },
        ...{ expired: null, blocked: null, url: 'https://example.com/hello', account: 'acme' },
        ...{ keyId: 'key-1', createdAt: timeAt(0), hasPassword: true },
        ...{ clickCount: 0, lastAccessed: null },
      });
      expect(await link('hello', 9.999)).to.include({ state: 'active' });
      expect(await link('hello', 10)).to.deep.include({
        state: 'blocked',
        blocked: { at: timeAt(10), by: 'alice', reason: 'phishing' },
      });
      expect(await link('hello', 20)).to.deep.include({ state: 'active', blocked: null });
    });

    it('expires it at its end, before the event', async () => {
      append(
        created('brief', { expiresAt: timeAt(60) }),
        blocked('brief', 2, { time: at(70) }),
        expired('brief', 3, 'time', { time: at(90) }),
        unblocked('brief', 4, { time: at(95) }),
      );
      for (const [seconds, state, reason] of [
        [59.999, 'active', null],
        [60, 'expired', 'time'],
        [70, 'blocked', 'time'],
        [100, 'expired', 'time'],
      ] as const) {
        expect(await link('brief', seconds)).to.include({ state, expired: reason });
      }
    });

    it('returns the changes of its owner, and its clicks, up to each moment', async () => {
      const later = 'https://example.com/later';
      append(
        created('mine', { maxClicks: 1, title: 'first', tags: ['a'] }, { time: at(0) }),
        visited('mine', 1, { time: at(5) }),
        visited('mine', 1, { time: at(5) }),
        expired('mine', 2, 'clicks', { time: at(5) }),
        edited('mine', 3, { url: later, maxClicks: 9 }, { time: at(10) }),
        described('mine', 4, { title: null, note: 'n', tags: [] }, { time: at(20) }),
        disabled('mine', 5, { time: at(30) }),
        deleted('mine', 6, { time: at(60) }),
      );
      const texts = { title: 'first', note: null, tags: ['a'] };
      const first = { url: 'https://example.com/mine', maxClicks: 1, ...texts };
      for (const [seconds, expected] of [
        [4, { state: 'active', expired: null, clickCount: 0, ...first }],
        [9, { state: 'expired', expired: 'clicks', clickCount: 1, ...first }],
        [10, { state: 'active', expired: null, clickCount: 1, url: later, maxClicks: 9, ...texts }],
        [20, { title: null, note: 'n', tags: [] }],
        [30, { state: 'disabled' }],
        [60, { state: 'deleted', url: later }],
      ] as const) {
        expect(await link('mine', seconds), `at ${seconds}`).to.deep.include(expected);
      }
    });

    it('counts visits without repeats, and bots separately', async () => {
      append(
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
      const counts = { clickCount: 3, botCount: 1, lastAccessed: timeAt(20) };
      expect(await link('hello', 35)).to.include(counts);
      expect(await link('hello', 40)).to.include({ clickCount: 4, botCount: 1 });
    });

    it('reads only the partitions of its code, and reports offsets and unreadable records', async () => {
      append(created('hello', {}), spooled('hello', 1, 10));
      appendRecord(topics.links.name, { key: 'hello', value: 'not an event' });
      const progress: (readonly [number, number])[] = [];
      const snapshot = await linkAsOf(
        { log, moment: at(20), progress: (done, total) => progress.push([done, total]) },
        'hello',
      );
      expect(snapshot.unreadable).to.equal(1);
      const ends = Object.values(snapshot.readUpTo).map((topic) => Object.values(topic));
      expect(ends).to.deep.equal([[2], [1]]);
      expect(progress.at(-1)).to.deep.equal([3, 3]);
    });
  });

  describe('for a key', () => {
    const key = (seconds: number, name = 'website') =>
      keyAsOf({ log, moment: at(seconds) }, name, defaultPlanTable);

    it('returns plan, status, and who changed it last', async () => {
      const change = { name: 'shop', plan: 'PRO', status: 'suspended' } as const;
      append(
        keyCreated('key-1', {}, { actor: 'alice', time: at(0) }),
        keyCreated('key-2', { name: 'twin' }),
        keyCreated('key-3', { name: 'twin' }),
        keyChanged('key-1', 2, change, { actor: 'bob', time: at(10) }),
        keyRevoked('key-1', 3, { actor: 'carol', time: at(20) }),
      );
      expect(await key(5)).to.deep.include({
        ...{ id: 'key-1', plan: 'HOBBY', account: 'acme', status: 'active' },
        lastChange: { at: timeAt(0), by: 'alice' },
        calls: { used: 0, usedAtMost: 0, limit: 25_000, exhausted: false },
      });
      expect(await key(10, 'shop')).to.include({ id: 'key-1', plan: 'PRO', status: 'suspended' });
      expect(await key(20, 'key-1')).to.deep.include({
        status: 'revoked',
        lastChange: { at: timeAt(20), by: 'carol' },
      });
      expect(JSON.stringify(await key(5))).to.not.match(/hash|abab/);
      expect(await rejection(key(15)))
        .to.be.instanceOf(CliError)
        .and.match(/no key had the id/);
      const twins = /2 keys .* use one of the ids key-2, key-3$/;
      expect(await rejection(key(15, 'twin'))).to.match(twins);
    });

    it('returns scopes and expiry of a derived key, and the plan of its root', async () => {
      const child = { name: 'child', plan: null, expiresAt: timeAt(1_000) };
      append(
        keyCreated('key-1', { plan: 'PRO' }, { time: at(0) }),
        keyCreated('key-2', { ...child, ancestors: ['key-1'], scopes: ['stats:read'] }),
      );
      expect(await key(1, 'child')).to.deep.include({
        ...{ id: 'key-2', plan: 'PRO', rootId: 'key-1', expiresAt: timeAt(1_000) },
        ...{ scopes: ['stats:read'], status: 'active' },
      });
    });

    it('counts the usage of the month, and calls by minute', async () => {
      const metered = (sequence: number, minute: number, calls: number) =>
        newEvent(
          'CallsMetered',
          { minute: timeAt(minute * 60), calls },
          { id: idOf(sequence), subject: 'key-1', sequence, time: at(minute * 60 + 65) },
        );
      append(
        keyCreated('key-1', { plan: 'FREE' }),
        created('one', {}, { time: at(1) }),
        created('two', {}, { time: at(100) }),
        created('two', {}, { time: at(100) }),
        created('stranger', { keyId: 'key-2' }),
        created('last-month', {}, { time: at(-30 * 86_400) }),
        metered(1, 0, 1_990),
        metered(1, 0, 1_990),
        metered(2, 1, 10),
        rendered('key-1', 3, at(200)),
      );
      const spent = (used: number, limit: number, usedAtMost = used) => ({
        ...{ used, usedAtMost, limit, exhausted: false },
      });
      expect(await key(30)).to.deep.include({
        month: '2026-05-01',
        calls: spent(0, 2_000, 1_990),
        links: spent(1, 35),
      });
      // The minute is over; its event follows five seconds later.
      const unknown = { ...spent(1_990, 2_000, 2_000), exhausted: null };
      expect(await key(60)).to.deep.include({ calls: unknown });
      expect(await key(120)).to.deep.include({
        calls: { ...spent(2_000, 2_000), exhausted: true },
        links: spent(2, 35),
        qrCodes: spent(0, 35),
      });
      expect(await key(200)).to.have.nested.property('qrCodes.used', 1);
      const next = { month: '2026-06-01', calls: spent(0, 2_000) };
      expect(await key(30 * 86_400)).to.deep.include(next);
    });
  });

  describe('for the platform', () => {
    const platform = (seconds: number) => platformAsOf({ log, moment: at(seconds) });

    it('returns switches, overrides, domains and keys', async () => {
      append(
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
        utmTemplateSaved('acme:Newsletter', 1, {}, { time: at(10) }),
        utmTemplateDeleted('acme:Newsletter', 2, { time: at(20) }),
      );
      const early = await platform(10);
      expect(early).to.deep.include({
        maintenance: false,
        overrides: [{ alias: 'admin', account: 'acme' }],
        domains: [{ domain: 'go.example', account: 'acme' }],
        utmTemplates: [{ ...someUtmTemplate, account: 'acme' }],
        links: { active: 0, expired: 0, blocked: 0 },
      });
      expect(early.features).to.include({ passwords: false, aliases: true });
      expect(early.keys.map(({ name }) => name)).to.deep.equal(['website']);
      expect(JSON.stringify(early)).to.not.match(/hash|abab/);
      const late = await platform(50);
      expect(late).to.deep.include({
        maintenance: true,
        overrides: [],
        domains: [],
        utmTemplates: [],
      });
      expect(late.keys).to.have.length(2);
    });

    it('counts links by state, without repeats', async () => {
      const codes = Array.from({ length: 40 }, (_, index) => `code-${index}`);
      append(
        ...codes.map((code, index) =>
          created(code, {
            expiresAt: index < 8 ? timeAt(60) : null,
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
      for (const [seconds, active, over, isBlocked] of [
        [0, 40, 0, 0],
        [30, 36, 0, 4],
        [40, 34, 2, 4],
        [50, 34, 3, 3],
        [60, 28, 9, 3],
      ] as const) {
        const links = { active, expired: over, blocked: isBlocked };
        expect((await platform(seconds)).links, `at ${seconds}`).to.deep.equal(links);
      }
      const inSlices = await platformAsOf({ log, moment: at(60) }, 3);
      expect(inSlices.links).to.deep.equal({ active: 28, expired: 9, blocked: 3 });
    });
  });

  it('returns the beginning of the log', async () => {
    expect(await beginningOf(log)).to.equal(null);
    append(featureSwitched(1, 'qr', false, { time: at(5) }), keyCreated('key-1', {}));
    expect(await beginningOf(log)).to.equal(timeAt(0));
  });
});
