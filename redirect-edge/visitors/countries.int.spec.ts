import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import pino from 'pino';
import { ConfigError } from '../../ops/platform/errors.js';
import { readConfig } from '../../ops/config/config.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { openCountries, type Countries } from './countries.js';
import { mmdbFile, type MmdbValue } from './testing/mmdb.js';
import { folderFixture } from '../../ops/test/support/fixtures.js';

describe('redirect edge: countries', () => {
  const dir = folderFixture();
  let lines: string[];

  beforeEach(() => {
    lines = [];
  });
  const logger = pino({ base: null }, { write: (line: string) => lines.push(line) });

  const opened = async (bytes: Buffer): Promise<Countries> => {
    const file = path.join(dir.path, 'some.mmdb');
    await writeFile(file, bytes);
    return openCountries(file, logger);
  };

  it('are read from the bundled database by default', async () => {
    const countries = await openCountries(readConfig({}).geoipFile, logger);
    expect(countries('8.8.8.8')).to.equal('US');
    expect(countries('2a02:1810::1')).to.equal('BE');
    for (const unknown of ['127.0.0.1', '10.1.2.3', '::1', ''])
      expect(countries(unknown)).to.be.null;
  });

  const reserved: Readonly<Record<string, readonly string[]>> = {
    private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
    loopback: ['127.0.0.1', '127.255.255.255', '::1'],
    'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1'],
    'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
    documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
    'unique local': ['fc00::1', 'fdff:ffff::1'],
    'IPv4-mapped private': ['::ffff:192.168.0.1', '::ffff:c0a8:1', '::ffff:172.16.0.1'],
    'special use': ['0.0.0.0', '192.0.0.1', '192.88.99.1', '198.18.0.1', '::', '64:ff9b::808:808'],
    'multicast and reserved': ['224.0.0.1', '240.0.0.1', '255.255.255.255', 'ff02::1'],
  };
  it('are unknown for reserved addresses, also if the database has them', async () => {
    const bundled = await openCountries(readConfig({}).geoipFile, logger);
    const everywhere = await opened(mmdbFile({ country_code: 'CH' }, 6, 'all'));
    for (const [range, addresses] of Object.entries(reserved)) {
      for (const address of addresses)
        expect(bundled(address) ?? everywhere(address), `${range} ${address}`).to.be.null;
    }
    // The public addresses next to reserved ranges.
    for (const address of [
      ...['9.255.255.255', '11.0.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255'],
      ...['192.169.0.0', '100.63.255.255', '100.128.0.0', '169.253.255.255', '169.255.0.0'],
      ...['126.255.255.255', '128.0.0.0', '2001:db7::1', '2001:db9::1', '::ffff:8.8.8.8'],
    ]) {
      expect(everywhere(address), address).to.equal('CH');
    }
  });

  it('are unknown without a database', async () => {
    const countries = await openCountries(readConfig({ GEOIP_FILE: 'none' }).geoipFile, logger);
    expect(countries('8.8.8.8')).to.be.null;
  });

  const layouts: readonly (readonly [string, MmdbValue])[] = [
    ['GeoLite2 and DB-IP', { country: { geoname_id: 1, iso_code: 'CH', names: { en: 'x' } } }],
    ['ip-location-db', { country_code: 'CH' }],
    ['IPinfo Lite', { country: 'Switzerland', country_code: 'CH', continent: 'Europe' }],
    ['the previous IPinfo', { country: 'CH', country_name: 'Switzerland' }],
  ];
  for (const [product, record] of layouts) {
    for (const ipVersion of [4, 6] as const) {
      it(`are read from the layout of ${product}, in a tree of IPv${ipVersion}`, async () => {
        const countries = await opened(mmdbFile(record, ipVersion));
        expect(countries('8.8.8.8')).to.equal('CH');
        for (const other of ['192.0.2.1', '2001:db8::1', '1::'])
          expect(countries(other), other).to.be.null;
      });
    }
  }

  it('are two capital letters or unknown', async () => {
    for (const record of [{ country: 'Switzerland' }, { asn: 7 }, { country_code: 'ch' }, 'CH']) {
      expect((await opened(mmdbFile(record, 6)))('8.8.8.8')).to.be.null;
    }
  });

  it('cannot be read from a missing or invalid file', async () => {
    for (const file of [path.join(dir.path, 'nothing.mmdb'), dir.path]) {
      expect(() => readConfig({ GEOIP_FILE: file })).to.throw(
        ConfigError,
        /^GEOIP_FILE cannot be read/,
      );
    }
    for (const bytes of ['', 'no database', '\xab\xcd\xefMaxMind.com']) {
      const error = await rejection(opened(Buffer.from(bytes, 'latin1')));
      expect(error).to.be.instanceOf(ConfigError);
      expect((error as Error).message).to.match(/^GEOIP_FILE .*some\.mmdb is no MMDB file: .+$/);
    }
  });

  it('are unknown after damage in the file, which is logged once', async () => {
    const bytes = mmdbFile({ country_code: 'CH' }, 4);
    // The leaf points beyond the end.
    bytes.writeUIntBE(0xffffff, 0, 3);
    const countries = await opened(bytes);
    expect([countries('8.8.8.8'), countries('9.9.9.9')]).to.deep.equal([null, null]);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include('damaged');
  });
});
