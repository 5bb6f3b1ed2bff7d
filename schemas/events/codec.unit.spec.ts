import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { cloudEventFaults } from '../testing/cloud-events.js';
import { created, idOf, noon, someEvent } from '../testing/events.js';
import { catalogue } from './catalogue.js';
import { eventReader, newEvent, readEvent, UnreadableEvent, writeEvent } from './codec.js';
import { originOf, spoolSource } from './envelope.js';
import { defineEvents, unknownEvent } from './event-type.js';
import { codePoint } from '../testing/code-point.js';

/** The error of `read`; `null` if it succeeds. */
const faultOf = (value: string, read: (text: string) => unknown = readEvent): unknown => {
  try {
    read(value);
    return null;
  } catch (error) {
    return error;
  }
};

const link = JSON.parse(writeEvent(created('spring'))) as Record<string, unknown>;

const withChange = (change: Record<string, unknown>): string =>
  JSON.stringify({ ...link, ...change });

describe('schemas: codec of events', () => {
  it('reads what it wrote, and writes only CloudEvents', () => {
    fc.assert(
      fc.property(someEvent, (event) => {
        const value = writeEvent(event);
        expect(readEvent(value)).to.deep.equal(event);
        expect(cloudEventFaults(JSON.parse(value))).to.deep.equal([]);
      }),
      { numRuns: 100 },
    );
  });

  it('throws only UnreadableEvent, for any input', () => {
    const anything = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.json(),
      fc.jsonValue().map((value) => withChange({ data: value })),
      fc.dictionary(fc.string(), fc.jsonValue()).map(withChange),
      fc
        .tuple(fc.constantFrom(...Object.keys(link)), fc.jsonValue())
        .map(([name, value]) => withChange({ [name]: value })),
    );
    fc.assert(
      fc.property(anything, (value) => {
        const fault = faultOf(value);
        expect(fault === null || fault instanceof UnreadableEvent).to.be.true;
      }),
      { numRuns: 200 },
    );
  });

  const unreadable: readonly [string, string, RegExp][] = [
    ['what is not JSON', '{"specversion":', /not JSON/],
    ['another type', withChange({ type: 'com.example.LinkCreated.v1' }), /unknown type/],
    ['a name of Object’s own', withChange({ type: 'constructor' }), /unknown type/],
    ['an id that is neither UUID nor number', withChange({ id: '01' }), /id/],
    ['a time without milliseconds', withChange({ time: '2026-05-20T12:00:00Z' }), /time/],
    ['a day that never was', withChange({ time: '2026-02-30T12:00:00.000Z' }), /time/],
    ['a sequence beyond 2^53', withChange({ sequence: '9'.repeat(16) }), /sequence/],
    ['null for an absent attribute', withChange({ actor: null }), /actor/],
    ['a prototype among the attributes', `{"__proto__":{},${withChange({}).slice(1)}`, /__proto__/],
    [
      'a prototype in the data',
      withChange({}).replace('"data":{', '"data":{"__proto__":{},'),
      /__proto__/,
    ],
  ];
  for (const [what, value, reason] of unreadable) {
    it(`does not read ${what}`, () => {
      expect(faultOf(value))
        .to.be.instanceOf(UnreadableEvent)
        .with.property('message')
        .match(reason);
    });
  }
});

describe('schemas: upcasting', () => {
  const { GuestSeated } = defineEvents('links', {
    GuestSeated: {
      description: 'A guest took seats.',
      version: 3,
      data: z.strictObject({ guest: z.string(), seats: z.int(), table: z.string().nullable() }),
      retired: [
        {
          version: 1,
          data: z.strictObject({ who: z.string() }),
          upcast: ({ who }: { who: string }) => ({ guest: who, seats: 1 }),
        },
        {
          version: 2,
          data: z.strictObject({ guest: z.string(), seats: z.int() }),
          upcast: (older: { guest: string; seats: number }) => ({ ...older, table: null }),
        },
      ],
    },
  });
  const read = eventReader([GuestSeated]);

  const cases: readonly [number, Record<string, unknown>, Record<string, unknown>][] = [
    [1, { who: 'Ada' }, { guest: 'Ada', seats: 1, table: null }],
    [2, { guest: 'Ada', seats: 4 }, { guest: 'Ada', seats: 4, table: null }],
    [3, { guest: 'Ada', seats: 4, table: '7' }, { guest: 'Ada', seats: 4, table: '7' }],
  ];
  for (const [version, data, expected] of cases) {
    it(`upcasts version ${version} to version 3, without changes to the envelope`, () => {
      const value = withChange({ type: `linklog.GuestSeated.v${version}`, data });
      expect(read(value)).to.deep.equal({
        ...created('spring'),
        type: 'linklog.GuestSeated.v3',
        data: expected,
      });
    });
  }
});

describe('schemas: catalogue', () => {
  it('has each definition under its name, with consecutive versions', () => {
    for (const [name, definition] of Object.entries(catalogue)) {
      const versions = [...definition.retired.map((older) => older.version), definition.version];
      expect(definition.name).to.equal(name);
      expect(versions).to.deep.equal(versions.map((_, index) => index + 1));
    }
  });

  it('names the fold and the unknown event type in the error', () => {
    const unknown = { ...created('spring'), type: 'linklog.LinkMelted.v1' } as never;
    expect(() => unknownEvent(unknown, 'link')).to.throw(
      'The fold link has no case for linklog.LinkMelted.v1',
    );
  });
});

describe('schemas: new event', () => {
  it('has the source of the ledger, and omits absent attributes', () => {
    const event = newEvent(
      'LinkExpired',
      { reason: 'time' },
      { id: idOf(1), subject: 'spring', time: noon, sequence: 2, account: undefined },
    );
    expect(event).to.deep.equal({
      specversion: '1.0',
      id: idOf(1),
      type: 'linklog.LinkExpired.v1',
      source: '/linklog/ledger',
      subject: 'spring',
      time: '2026-05-20T12:00:00.000Z',
      datacontenttype: 'application/json',
      sequence: 2,
      data: { reason: 'time' },
    });
  });

  it('has the subject as origin in the ledger, and the spool as origin on an edge', () => {
    expect(originOf(created('spring'))).to.equal('spring');
    expect(originOf(created('spring', {}, { source: spoolSource('s-1') }))).to.equal(
      '/linklog/spool/s-1',
    );
  });
});
