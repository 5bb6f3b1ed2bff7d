import { expect } from 'chai';
import fc from 'fast-check';
import { platformSubject } from '../../../schemas/folds/platform.js';
import {
  blocked,
  codeAdded,
  created,
  expired,
  keyChanged,
  keyCreated,
  keyRevoked,
  maintenanceSwitched,
  metered,
  overrideGranted,
  overrideRevoked,
  unblocked,
  visited,
} from '../../../schemas/testing/events.js';
import {
  codesIn,
  creationsIn,
  foldLedgerLinks,
  foldKeys,
  foldMeters,
  foldOverrides,
  foldPlatform,
  isLimitedVisit,
} from './folds.js';

/** The events, each perhaps again later: what a sender does that does not know what was taken. */
const withRepeats = <Event>(events: readonly Event[]): fc.Arbitrary<readonly Event[]> =>
  fc
    .array(fc.record({ from: fc.nat(events.length), until: fc.nat(events.length) }))
    .map((resends) => {
      const sent = [...events];
      // A sender repeats events in order, from any sent event.
      for (const { from, until } of resends) sent.push(...events.slice(from, until));
      return sent;
    });

const expectRepeatsDropped = <Event>(
  events: readonly Event[],
  fold: (events: readonly Event[]) => unknown,
): void => {
  const expected = fold(events);
  fc.assert(
    fc.property(withRepeats(events), (sent) => {
      expect(fold(sent)).to.deep.equal(expected);
    }),
  );
};

describe('ledger: ledger as a fold of the log', () => {
  const none = new Map<never, never>();

  it('ignores a second LinkCreated of a subject', () => {
    const first = created('spring', { maxClicks: 3 });
    const history = [first, blocked('spring', 2)];
    const second = created('spring', { maxClicks: 9 }, { sequence: 3 });
    const links = foldLedgerLinks(none, history);
    expect(foldLedgerLinks(none, [...history, second])).to.deep.equal(links);
    expect(creationsIn(none, [...history, second])).to.deep.equal([first]);
    expect(creationsIn(links, [second])).to.deep.equal([]);
  });

  it('ignores repeats of further codes, and those of unknown links', () => {
    const code = (subject: string, sequence: number) =>
      codeAdded(subject, sequence, { code: `${subject}-${sequence}`, keyId: 'key-1' });
    const history = [created('spring'), code('spring', 2), blocked('spring', 3), code('spring', 4)];
    const others = [code('unknown', 1)];
    const codes = [history[1], history[3]];
    expect(
      codesIn(none, foldLedgerLinks(none, [...history, ...others]), [...history, ...others]),
    ).to.deep.equal(codes);
    const known = foldLedgerLinks(none, history.slice(0, 3));
    const rest = history.slice(1);
    expect(codesIn(known, foldLedgerLinks(known, rest), rest)).to.deep.equal([history[3]]);
    expectRepeatsDropped(history, (events) => codesIn(none, foldLedgerLinks(none, events), events));
  });

  it('ignores repeats of link events and creations', () => {
    const ofLinks = [
      created('spring', { maxClicks: 3 }),
      created('autumn'),
      blocked('spring', 2),
      unblocked('spring', 3),
      expired('autumn', 2),
    ];
    const visits = [visited('spring', 1), visited('spring', 2), visited('spring', null)].filter(
      isLimitedVisit,
    );
    expect(visits).lengthOf(2);
    expectRepeatsDropped(ofLinks, (events) => foldLedgerLinks(none, events));
    const changed = foldLedgerLinks(none, ofLinks);
    expectRepeatsDropped(visits, (events) => foldLedgerLinks(changed, events));
    const links = foldLedgerLinks(changed, visits);
    expect(links.get('spring')).to.include({ clicks: 2, sequence: 3, blocked: false });
    expect(changed.get('autumn')).to.include({ expired: 'time', sequence: 2 });
  });

  it('continues with a later part of the log', () => {
    const first = foldLedgerLinks(none, [
      created('spring', { maxClicks: 3 }),
      blocked('spring', 2),
    ]);
    const second = foldLedgerLinks(first, [blocked('spring', 2), unblocked('spring', 3)]);
    expect(second.get('spring')).to.include({ blocked: false, sequence: 3 });
  });

  it('ignores events of unknown links and keys', () => {
    const visits = [visited('lost', 1)].filter(isLimitedVisit);
    expect(foldLedgerLinks(none, [blocked('lost', 2), ...visits])).to.be.empty;
    expect(foldKeys(none, [keyRevoked('lost', 2)])).to.be.empty;
  });

  it('ignores repeats of spendings, key changes, switches and overrides', () => {
    const usage = [metered('key-1', 1, 5), metered('key-1', 2, 7)];
    expectRepeatsDropped(usage, (events) => foldMeters(none, events));
    expect(foldMeters(none, usage).get('key-1')).to.include({ calls: 12, usageSequence: 2 });

    const changes = [
      keyCreated('key-1'),
      keyChanged('key-1', 2, { name: 'shop', plan: 'PRO', status: 'suspended' }),
      keyRevoked('key-1', 3),
    ];
    expectRepeatsDropped(changes, (events) => foldKeys(none, events));
    expect(foldKeys(none, changes).get('key-1')).to.include({ status: 'revoked' });

    const switches = [maintenanceSwitched(1, true), maintenanceSwitched(2, false)];
    expectRepeatsDropped(switches, (events) => foldPlatform(none, events));
    const platform = foldPlatform(none, switches).get(platformSubject);
    expect(platform).to.include({ maintenance: false, sequence: 2 });

    const overrides = [overrideGranted('docs', 1, 'acme'), overrideRevoked('docs', 2)];
    expectRepeatsDropped(overrides, (events) => foldOverrides(none, events));
    expect(foldOverrides(none, overrides).get('docs')).to.include({ account: null, sequence: 2 });
  });
});
