import { expect } from 'chai';
import fc from 'fast-check';
import { readTime, readUsTime } from './times.js';

describe('imports: times of files', () => {
  const cases: readonly (readonly [text: string, zone: string, expected: string | null])[] = [
    ['2024-08-15T15:03:56-04:00', 'UTC', '2024-08-15T19:03:56.000Z'],
    ['2020-10-26T17:20:40+0000', 'Europe/Berlin', '2020-10-26T17:20:40.000Z'],
    ['2020-10-26 17:20:40 +02', 'UTC', '2020-10-26T15:20:40.000Z'],
    ['2024-09-02T18:49:56.136Z', 'Europe/Berlin', '2024-09-02T18:49:56.136Z'],
    ['2024-09-02T18:49:56.1369999Z', 'UTC', '2024-09-02T18:49:56.136Z'],
    [' 2023-05-01 08:00:01 ', 'UTC', '2023-05-01T08:00:01.000Z'],
    ['2023-05-01 08:00:01', 'Europe/Berlin', '2023-05-01T06:00:01.000Z'],
    ['2023-05-01', 'America/New_York', '2023-05-01T04:00:00.000Z'],
    ['2024-02-29 23:59:60', 'UTC', '2024-02-29T23:59:59.000Z'],
    ['1580515200', 'Europe/Berlin', '2020-02-01T00:00:00.000Z'],
    ['1580515200.25', 'UTC', '2020-02-01T00:00:00.250Z'],
    ['1580515200123', 'UTC', '2020-02-01T00:00:00.123Z'],
    ['0000-00-00 00:00:00', 'UTC', null],
    ['0001-01-01 00:00:00+02:00', 'UTC', null],
    ['0001-01-01 00:00:00', 'UTC', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31 23:59:59-01:00', 'UTC', null],
    ['2023-02-29', 'UTC', null],
    ['2023-05-01 24:00:00', 'UTC', null],
    ['2023-05-01 08:60:00', 'UTC', null],
    ['2023-05-01 08:00:00+24:00', 'UTC', null],
    ['20230501', 'UTC', null],
    ['0', 'UTC', null],
    ['03/04/2025', 'UTC', null],
    ['', 'UTC', null],
  ];
  for (const [text, zone, expected] of cases) {
    it(`reads "${text}" in ${zone} as ${expected}`, () => {
      expect(readTime(text, zone)).to.equal(expected);
    });
  }

  it('moves a local time in a DST gap forward, and takes the first of a repeated one', () => {
    expect(readTime('2024-03-31 02:30:00', 'Europe/Berlin')).to.equal('2024-03-31T01:30:00.000Z');
    expect(readTime('2024-10-27 02:30:00', 'Europe/Berlin')).to.equal('2024-10-27T00:30:00.000Z');
  });

  it('reads dates of the USA only where the format has them', () => {
    for (const [text, zone, expected] of [
      ['10/26/2020', 'UTC', '2020-10-26T00:00:00.000Z'],
      ['1/2/2020, 12:05 AM', 'UTC', '2020-01-02T00:05:00.000Z'],
      ['01/02/2020 1:05:06 pm', 'Europe/Berlin', '2020-01-02T12:05:06.000Z'],
      ['2020-01-02 13:05:06', 'UTC', '2020-01-02T13:05:06.000Z'],
      ['26/10/2020', 'UTC', null],
      ['01/02/2020 13:00 PM', 'UTC', null],
    ] as const) {
      expect(readUsTime(text, zone), text).to.equal(expected);
    }
  });

  it('returns null or a time for any text', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('UTC', 'Asia/Kolkata'), (text, zone) => {
        for (const time of [readTime(text, zone), readUsTime(text, zone)]) {
          if (time !== null) expect(new Date(time).toISOString()).to.equal(time);
        }
      }),
    );
  });
});
