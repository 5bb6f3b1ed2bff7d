import { expect } from 'chai';
import { rejection } from '../../ops/test/support/waiting.js';
import type { NewRecord } from '../../ops/event-log/port.js';
import { readEvent } from '../../schemas/events/codec.js';
import type { SourceVisit } from './formats/records.js';
import {
  appendVisits,
  visitFault,
  writeImportedVisit,
  type ImportedVisit,
} from './imported-visit.js';

const importId = '0199d1ab-0000-7000-8000-000000000001';
const isOwnHost = ({ host }: URL): boolean => host === 'sho.rt';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';

const imported = (visit: Partial<SourceVisit> = {}, sequence = 7): ImportedVisit => ({
  ...{ subject: 'go.example/spring', account: 'acme', importId, sequence },
  visit: {
    ...{ code: 'spring', domain: null, time: '2019-02-03T04:05:06.789Z' },
    ...{ country: null, referrer: null, userAgent: null, ...visit },
  },
});

const dataOf = (visit: Partial<SourceVisit>) =>
  readEvent(writeImportedVisit(imported(visit), isOwnHost)).data;

describe('imports: visits', () => {
  it('are events with the import as their source, and without an address, a visitor or a version', () => {
    const visit = { country: 'DE', referrer: 'https://www.news.example/a?b', userAgent: firefox };
    expect(readEvent(writeImportedVisit(imported(visit), isOwnHost))).to.deep.equal({
      ...{ specversion: '1.0', id: '7', type: 'linklog.LinkVisited.v4', sequence: 7 },
      ...{ source: `/linklog/import/${importId}`, subject: 'go.example/spring' },
      ...{ time: '2019-02-03T04:05:06.789Z', datacontenttype: 'application/json', account: 'acme' },
      data: {
        ...{ click: null, bot: false, country: 'DE', referrer: 'news.example' },
        ...{ browser: 'Firefox', os: 'Linux', device: 'desktop', language: null },
        ...{ visitor: null, trigger: null, version: null, target: null },
        ...{ code: null, campaign: null },
      },
    });
  });

  const referrers: readonly (readonly [string | null, string | null])[] = [
    [null, null],
    ['https://www.Example.com:8443/path?query#hash', 'example.com'],
    ['example.com', 'example.com'],
    ['www.example.com/path', 'example.com'],
    ['example.com:8080/path', 'example.com'],
    ['https://sho.rt/abc', null],
    ['sho.rt', null],
    ['192.0.2.1', null],
    ['android-app://com.example.app/', null],
    ['about:blank', null],
    ['no host', null],
  ];
  it('have the host of their referrer', () => {
    for (const [referrer, host] of referrers) {
      expect(dataOf({ referrer }), `${referrer}`).to.include({ referrer: host });
    }
  });

  it('are clicks if the user agent is that of a bot, and of an unknown client without one', () => {
    expect(dataOf({ userAgent: 'Googlebot/2.1' })).to.include({ bot: false });
    const unknown = { bot: false, browser: null, os: null, device: null };
    expect(dataOf({ userAgent: null })).to.include(unknown);
  });

  it('have no country if it is no code', () => {
    for (const country of ['D', 'de', 'DEU', '', '\u00c4B']) {
      expect(dataOf({ country })).to.include({ country: null });
    }
  });

  it('are refused in the future and before 1990', () => {
    const now = new Date('2026-05-01T12:00:00.000Z');
    const faultOf = (time: string) => visitFault({ ...imported().visit, time }, now);
    expect(faultOf('2026-05-01T12:00:00.000Z')).to.equal(null);
    expect(faultOf('2026-05-01T12:00:00.001Z')).to.equal('The visit is in the future.');
    expect(faultOf('1990-01-01T00:00:00.000Z')).to.equal(null);
    expect(faultOf('1989-12-31T23:59:59.999Z')).to.equal('The visit is before 1990.');
  });

  it('are appended in sequence and in bounded portions, each after the one before is durable', async () => {
    const sizes: number[] = [];
    const appended: number[] = [];
    const log = {
      async append(_topic: string, records: readonly unknown[]): Promise<void> {
        sizes.push(records.length);
        await new Promise(setImmediate);
        for (const { key, value } of records as readonly NewRecord[]) {
          expect(value).to.include(`"subject":${JSON.stringify(key)}`);
          appended.push(Number(/"sequence":"?(\d+)/.exec(value)?.[1]));
        }
      },
    };
    const sequences = Array.from({ length: 4_001 }, (_, index) => 3 * index + 1);
    const visits = sequences.map((sequence) => imported({}, sequence));
    await appendVisits(log, visits, isOwnHost);
    expect(sizes).to.deep.equal([2_000, 2_000, 1]);
    expect(appended).to.deep.equal(sequences);
    await appendVisits(log, [], isOwnHost);
    expect(sizes).to.have.lengthOf(3);
  });

  it('report a failed append, and append no later portion', async () => {
    let calls = 0;
    const failure = new Error('unavailable');
    const append = (): Promise<void> => {
      calls += 1;
      return calls === 2 ? Promise.reject(failure) : Promise.resolve();
    };
    const visits = Array.from({ length: 4_001 }, (_, index) => imported({}, index + 1));
    expect(await rejection(appendVisits({ append }, visits, isOwnHost))).to.equal(failure);
    expect(calls).to.equal(2);
  });
});
