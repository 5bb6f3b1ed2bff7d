import { largeRules } from '../../schemas/testing/large-rules.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { readEvent, writeEvent } from '../../schemas/events/codec.js';
import { importedRow } from '../../schemas/http/imports.js';
import { destination, maxClicks, note, tags, title } from '../../schemas/http/link-fields.js';
import { optionsRequest } from '../../schemas/http/link-options.js';
import { noOptions, type LinkOptions } from '../../schemas/link-options.js';
import { linkCodeOf } from '../../schemas/link-subject.js';
import { commandMetadata, commandOf } from '../../schemas/testing/decider-specification.js';
import { importLinkDecider, type ImportLink } from './command.js';
import { emptyLink, type SourceLink } from './formats/records.js';
import { createRowCheck, suffixed, type CheckedRow, type DomainChoice } from './row-check.js';
import { codePoint } from '../../schemas/testing/code-point.js';

const isOwnHost = ({ host }: URL): boolean => host === 'sho.rt';
const destinations = { isOwnHost, schemes: [] };
const check = createRowCheck({ defaultDomain: 'go.default.example', destinations });

const anyDomain: DomainChoice = {
  domain: null,
  isActive: (name) => name === 'go.example',
  isStrict: false,
  ignoresCase: (name) => name === 'go.example',
};

const url = 'https://example.com/';

const checkLink = (changes: Partial<SourceLink>, domains: DomainChoice = anyDomain): CheckedRow =>
  check({ type: 'link', row: 7, link: { ...emptyLink, code: 'sale', url, ...changes } }, domains);

const ready = (...args: Parameters<typeof checkLink>) => {
  const checked = checkLink(...args);
  if (checked.type === 'refused') throw new Error(checked.outcome.message ?? 'refused');
  return checked;
};

const refusal = (...args: Parameters<typeof checkLink>) => {
  const checked = checkLink(...args);
  if (checked.type === 'ready') throw new Error('the row is ready');
  return checked.outcome;
};

describe('imports: checks of rows', () => {
  it('keep the values of a link that requests accept', () => {
    const values = {
      ...{ title: 'Sale', note: 'a\nb\tc', tags: ['x', 'y'], maxClicks: 5, clicks: 3 },
      ...{ createdAt: '2020-01-01T00:00:00.000Z', startsAt: '2030-01-01T00:00:00.000Z' },
      ...{ expiresAt: '2031-01-01T00:00:00.000Z', disabled: true },
      options: { forwardQuery: true as const },
    };
    const { link, messages, code, domain, row, source } = ready({ ...values, isCustom: false });
    expect(link).to.deep.equal({ ...values, url, custom: false });
    expect({ messages, code, domain, row, source }).to.deep.equal({
      ...{ messages: [], code: 'sale', domain: null, row: 7 },
      source: { domain: null, code: 'sale' },
    });
  });

  it('fold codes on a case-insensitive domain, of which the result must be a code', () => {
    const domain = 'go.example';
    expect(ready({ code: 'SALE-İ', domain })).to.deep.include({
      code: 'sale-i',
      source: { domain, code: 'SALE-İ' },
    });
    expect(ready({ code: 'SALE' }).code).to.equal('SALE');
    for (const code of ['Ⓜ', 'HEALTH']) {
      expect(refusal({ code, domain }).message).to.equal('No link can have this code.');
    }
  });

  it('normalise codes, and keep the code of the file for visits', () => {
    const row = ready({ code: 'cafe\u0301' });
    expect([row.code, row.source.code]).to.deep.equal(['café', 'cafe\u0301']);
    expect(refusal({ code: 'a b' })).to.deep.equal({
      ...{ row: 7, code: 'a b', url, outcome: 'invalid' },
      message: 'No link can have this code.',
    });
  });

  const names = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);
  const adapted: readonly (readonly [Partial<SourceLink>, object, ...messages: string[]])[] = [
    [
      { title: ' a\r\nb\u0000 ', note: 'a\r\nb\u0008c', tags: ['a,b', ' a b ', '', '\u0007'] },
      { title: 'a b', note: 'a\r\nb c', tags: ['a b'] },
    ],
    [{ title: '\n\t', messages: ['Of the reader.'] }, { title: null }, 'Of the reader.'],
    [
      { title: '🎉'.repeat(200), maxClicks: 1e9, clicks: 2e9, disabled: true },
      { title: '🎉'.repeat(200), maxClicks: 1e9, clicks: 2e9, disabled: true },
    ],
    [
      { title: 't'.repeat(201), note: 'n'.repeat(2_001), tags: ['t'.repeat(51)] },
      { title: 't'.repeat(200), note: 'n'.repeat(2_000), tags: ['t'.repeat(50)] },
      ...['The title was cut to 200 characters.', 'The note was cut to 2,000 characters.'],
      'The tag was cut to 50 characters.',
    ],
    [
      { title: `a${'\u0301'.repeat(40)}`, tags: names(21), clicks: 2e9 + 1 },
      { title: null, tags: names(20), clicks: 2e9 },
      'The title was left out, because it cannot be stored.',
      'Only the first 20 tags were imported.',
      'The clicks were reduced to 2000000000.',
    ],
    [
      { hasPassword: true },
      { disabled: true },
      'The link is disabled, because its password is unknown.',
    ],
  ];
  it('adapt values that requests refuse, and say so', () => {
    for (const [values, expected, ...messages] of adapted) {
      const row = ready(values);
      expect(row.link).to.deep.include(expected);
      expect(row.messages).to.have.members(messages);
    }
  });

  const time = '2030-01-01T00:00:00.000Z';
  const faults: readonly (readonly [Partial<SourceLink>, string])[] = [
    [{ url: 'mailto:a@example.com' }, 'it does not start with http:// or https://.'],
    [{ url: 'https://sho.rt/x' }, 'it leads to this service.'],
    [{ url: 'https://a@b.example/' }, 'it has a user name or an @ before its path.'],
    [{ url: 'https://' }, 'its host is not valid.'],
    [{ url: 'https://a.example/\u0007' }, 'it has control characters, or white space in its host.'],
    [{ url: `${url}${'x'.repeat(2_048)}` }, 'it has more than 2,048 characters.'],
    [
      { options: { rules: [{ name: 'loop', when: {}, url: 'https://sho.rt/x' }] } },
      'An option is not valid: rules[0].url',
    ],
    [{ startsAt: time, expiresAt: time }, 'The link starts after its end.'],
    [
      { options: { rules: [{ name: 'uk', when: { countries: ['UK'] }, url }] } },
      'An option is not valid: rules[0].when.countries[0]',
    ],
    ...[0, -1, 1.5, 1e9 + 1].map((maxClicks): readonly [Partial<SourceLink>, string] => [
      { maxClicks },
      `The value ${maxClicks} of maxClicks is not a whole number from 1 to 1,000,000,000.`,
    ]),
    [{ options: { rules: largeRules } }, 'A link has at most 64 KiB.'],
    [
      { options: { redirectStatus: 308 }, maxClicks: 5 },
      'A permanent redirect cannot have maxClicks or a password',
    ],
  ];
  it('refuse links that requests refuse, with the messages of the reader', () => {
    for (const [values, fault] of faults) {
      const { outcome, message } = refusal({ ...values, messages: ['Of the reader.'] });
      expect(outcome).to.equal('invalid');
      expect(message).to.include(fault).and.to.include(' Of the reader.');
    }
  });

  it('choose the domain of the request, else an active domain of the row, else the default', () => {
    expect(ready({ domain: 'go.example' }).domain).to.equal('go.example');
    const unicode = { ...anyDomain, isActive: (name: string) => name === 'xn--bcher-kva.example' };
    expect(ready({ domain: 'bücher.example' }, unicode).domain).to.equal('xn--bcher-kva.example');
    const ofDefault = { domain: null, messages: [] };
    expect(ready({ domain: 'GO.default.example' })).to.deep.include(ofDefault);
    const option = { ...anyDomain, domain: 'go.default.example' };
    expect(ready({ domain: 'go.example' }, option)).to.deep.include(ofDefault);
    const moved = ready({ domain: 'old.example' });
    expect([moved.domain, moved.source.domain]).to.deep.equal([null, 'old.example']);
    expect(moved.messages).to.deep.equal([
      'The link is on the default domain, because old.example is not a domain of the account.',
    ]);
    const named = { ...anyDomain, domain: 'go.example' };
    const expected = { domain: 'go.example', messages: [] };
    expect(ready({ domain: 'old.example' }, named)).to.deep.include(expected);
    const message = 'The domain old.example is not active for the account.';
    for (const domains of [
      { ...anyDomain, isStrict: true },
      { ...anyDomain, domain: 'old.example' },
    ]) {
      expect(refusal({ domain: 'old.example' }, domains)).to.include({ message });
    }
  });

  it('return the outcome of an invalid record, of bounded length', () => {
    const record = { type: 'invalid' as const, row: 3, code: null, url: null, message: 'No code.' };
    expect(check(record, anyDomain)).to.deep.equal({
      type: 'refused',
      outcome: { row: 3, code: null, url: null, outcome: 'invalid', message: 'No code.' },
    });
    const { code, url: shown } = refusal({ code: 'x'.repeat(90_000), url: 'y'.repeat(90_000) });
    expect([code?.length, shown?.length]).to.deep.equal([200, 200]);
  });

  it('number codes within their length', () => {
    expect(suffixed('sale', 2)).to.equal('sale-2');
    expect(suffixed('x'.repeat(188), 2)).to.have.length(190);
    expect(suffixed('x'.repeat(189), 2)).to.equal(null);
  });

  it('accept only data that the event and requests accept', () => {
    const text = fc.string({ unit: codePoint, maxLength: 300 });
    const time = fc.constantFrom(null, '2020-01-01T00:00:00.000Z', '2040-01-01T00:00:00.000Z');
    const links = fc.record<SourceLink>({
      code: fc.oneof(fc.constant('sale'), fc.string({ unit: 'grapheme', maxLength: 8 })),
      url: fc.oneof(fc.webUrl(), fc.webUrl({ withQueryParameters: true }), text),
      isCustom: fc.boolean(),
      domain: fc.constantFrom(null, 'go.example', 'old.example'),
      title: fc.option(text),
      note: fc.option(fc.oneof(text, fc.string({ unit: codePoint, maxLength: 2_500 }))),
      tags: fc.array(fc.oneof(text, fc.constant('a')), { maxLength: 25 }),
      ...{ createdAt: time, startsAt: time, expiresAt: time },
      maxClicks: fc.option(fc.nat({ max: 2e9 })),
      clicks: fc.nat({ max: 999_999_999_999_999 }),
      ...{ disabled: fc.boolean(), hasPassword: fc.boolean() },
      options: fc.constantFrom<LinkOptions[]>(
        noOptions,
        { forwardQuery: true },
        { rules: [{ name: 'a', when: {}, url: 'https://example.com/a' }] },
      ),
      codes: fc.array(fc.oneof(text, fc.constantFrom('a', 'go.example/b')), { maxLength: 25 }),
      messages: fc.constant([]),
    });
    const owner = { keyId: 'key-1', account: 'acme', importId: 'import-1', source: 'csv' };
    fc.assert(
      fc.property(links, (source) => {
        const row = checkLink(source);
        if (row.type === 'refused') {
          importedRow.strict().parse(row.outcome);
          return;
        }
        const { link, code } = row;
        expect(linkCodeOf(code)).to.equal(code);
        expect(destination(destinations).parse(link.url)).to.equal(link.url);
        if (link.title !== null) expect(title.parse(link.title)).to.equal(link.title);
        if (link.note !== null) expect(note.parse(link.note)).to.equal(link.note);
        expect(tags.parse(link.tags)).to.deep.equal(link.tags);
        if (link.maxClicks !== null)
          expect(maxClicks.parse(link.maxClicks)).to.equal(link.maxClicks);
        expect(optionsRequest(destinations).parse(link.options)).to.deep.equal(link.options);
        const toCommand = commandOf<ImportLink>(code, commandMetadata);
        const command = toCommand({ type: 'ImportLink', ...link, ...owner, visits: 0 });
        const decision = importLinkDecider.decide(command, importLinkDecider.initialState);
        if (decision.type !== 'accepted') throw new Error(`the decision is ${decision.type}`);
        for (const event of decision.events) {
          expect(readEvent(writeEvent(event))).to.deep.equal(event);
        }
      }),
      { numRuns: 60 },
    );
  });
});
