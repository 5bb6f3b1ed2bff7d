import { expect } from 'chai';
import fc from 'fast-check';
import type { IncomingMessage } from 'node:http';
import { clientAddress, networkOf } from './client-address.js';
import { ConfigError } from '../platform/errors.js';
import { readConfig } from '../config/config.js';

const trusting = (blocks: string) => readConfig({ TRUSTED_PROXIES: blocks }).trustedProxies;

const from = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

describe('platform: client address', () => {
  const proxies = trusting('10.0.0.0/8, 2001:db8:f::/48,192.0.2.1');

  it('is the remote address if the peer is not a trusted proxy', () => {
    expect(clientAddress(from('203.0.113.7', '198.51.100.1'), proxies)).to.equal('203.0.113.7');
    expect(clientAddress(from('10.1.1.1', '198.51.100.1'), trusting(''))).to.equal('10.1.1.1');
    expect(clientAddress(from('10.1.1.1'), proxies)).to.equal('10.1.1.1');
  });

  const cases: readonly [string, string, string][] = [
    ['10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['10.1.1.1', '1.1.1.1,198.51.100.1 , 192.0.2.1,10.2.2.2', '198.51.100.1'],
    ['2001:db8:f::2', '2001:DB8::1', '2001:db8::1'],
    ['10.1.1.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['10.1.1.1', '198.51.100.1, unknown, 10.3.3.3', '10.3.3.3'],
    ['10.1.1.1', '10.2.2.2, 10.3.3.3', '10.2.2.2'],
    ['10.1.1.1', '', '10.1.1.1'],
    ['10.1.1.1', '::ffff:102:304', '1.2.3.4'],
    ['10.1.1.1', '0000::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:a01:101', '198.51.100.1', '198.51.100.1'],
    ['10.1.1.1', '1.1.1.1, ::ffff:a03:303', '1.1.1.1'],
    ['10.1.1.1', ',8.8.8.8 ,, ,', '8.8.8.8'],
    ['10.1.1.1', '"8.8.8.8"', '8.8.8.8'],
    ['10.1.1.1', '"8.8.8.8:4711", "10.3.3.3"', '8.8.8.8'],
    ['10.1.1.1', '"[2001:db8::1]:4711"', '2001:db8::1'],
    ['10.1.1.1', '198.51.100.1, "', '10.1.1.1'],
  ];
  it('is the last untrusted address of X-Forwarded-For', () => {
    for (const [socket, forwarded, client] of cases) {
      const address = clientAddress(from(socket, forwarded), proxies);
      expect(address, `"${forwarded}" from ${socket}`).to.equal(client);
    }
  });
});

describe('platform: trust in proxies', () => {
  it('is the same with and without a cached result', () => {
    const isTrusted = trusting('10.0.0.0/8,2001:db8:f::/48');
    const addresses = Array.from({ length: 3_000 }, (_, n) => `${n % 20}.0.${n >> 8}.${n & 255}`);
    const first = addresses.slice(0, 500);
    for (const address of [...addresses, ...first, ...first]) {
      expect(isTrusted(address), address).to.equal(address.startsWith('10.'));
    }
    expect(['2001:db8:f::1', '2001:db8:e::1'].map(isTrusted)).to.deep.equal([true, false]);
  });
});

describe('platform: network of a client', () => {
  const networks: readonly [string, string][] = [
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1::3:4:5:6:192.0.2.1', '1:0:3:4::/64'],
    ['', ''],
  ];
  it('is the address, or the /64 of an IPv6 address', () => {
    for (const [address, network] of networks) expect(networkOf(address)).to.equal(network);
  });

  it('is the same for all addresses of a /64, in any notation', () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const half = fc.array(group, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(half, half, half, (prefix, host, otherHost) => {
        const long = [...prefix, ...host].map((text) => text.padStart(4, '0')).join(':');
        const { hostname } = new URL(`http://[${[...prefix, ...otherHost].join(':')}]`);
        const short = hostname.slice(1, -1);
        expect(networkOf(long)).to.equal(networkOf(short));
        expect(networkOf(long)).to.equal(`${prefix.join(':')}::/64`);
      }),
    );
  });
});

describe('platform: TRUSTED_PROXIES', () => {
  it('must be CIDRs', () => {
    for (const blocks of [
      ...['10.0.0.0/33', '10.0.0/8', '::/129', 'localhost', '10.0.0.1,', '10.0.0.0/8/9', 'a/8'],
      'fe80::1%eth0/64',
    ]) {
      expect(() => trusting(blocks)).to.throw(ConfigError, /^TRUSTED_PROXIES must be CIDRs/);
    }
  });
});
