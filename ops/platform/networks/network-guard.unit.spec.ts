import { BlockList } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import { ResolverUnavailable } from '../dns-query.js';
import { isPublic, networkGuard, type Verdict } from './network-guard.js';

/** Groups of four bytes as they are written in an IPv6 address. */
const groups = (ipv4: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
};

const inverted = (ipv4: string): string =>
  ipv4
    .split('.')
    .map((byte) => 255 - Number(byte))
    .join('.');

/** IPv6 addresses that embed an IPv4 address; other than the IPv4-mapped form, no host of the Internet has one. */
const embedded = (ipv4: string): readonly string[] => [
  `::${groups(ipv4)}`,
  `::ffff:0:${groups(ipv4)}`,
  `64:ff9b::${groups(ipv4)}`,
  `64:ff9b:1::${groups(ipv4)}`,
  `2002:${groups(ipv4)}::1`,
  `2001:0:${groups(ipv4)}::1`,
  `2001::${groups(inverted(ipv4))}`,
];

const mapped = (ipv4: string): readonly string[] => [
  `::ffff:${ipv4}`,
  `::FFFF:${groups(ipv4)}`,
  `0:0:0:0:0:ffff:${groups(ipv4)}`,
];

/** An address of a block: its first bits, then random ones. */
const ipv4In = (block: string): fc.Arbitrary<string> => {
  const [network = '', length] = block.split('/');
  const first = network.split('.').reduce((value, byte) => value * 256 + Number(byte), 0);
  return fc
    .integer({ min: first, max: first + 2 ** (32 - Number(length)) - 1 })
    .map((value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.'));
};

/** https://www.iana.org/assignments/iana-ipv4-special-registry and multicast. */
const specialIpv4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];

const publicIpv4 = [
  ...['1.0.0.0/8', '8.0.0.0/8', '93.0.0.0/8', '172.32.0.0/11', '192.1.0.0/16', '198.20.0.0/14'],
  ...['100.128.0.0/9', '223.0.0.0/8'],
];

describe('network guard: public addresses', () => {
  for (const block of specialIpv4) {
    it(`do not include ${block}, in any form`, () => {
      fc.assert(
        fc.property(ipv4In(block), (ipv4) => {
          const forms = [ipv4, ...mapped(ipv4), ...embedded(ipv4)];
          expect(forms.filter(isPublic)).to.deep.equal([]);
        }),
      );
    });
  }

  it('include other IPv4 addresses and their IPv4-mapped forms, but no other form', () => {
    fc.assert(
      fc.property(fc.oneof(...publicIpv4.map(ipv4In)), (ipv4) => {
        const forms = [ipv4, ...mapped(ipv4)];
        expect([...forms, ...embedded(ipv4)].filter(isPublic)).to.deep.equal(forms);
      }),
    );
  });

  it('include no IPv6 address outside 2000::/3', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(group, fc.array(group, { minLength: 7, maxLength: 7 }), (first, others) => {
        fc.pre(first >> 13 !== 1);
        expect(isPublic([first, ...others].map((value) => value.toString(16)).join(':'))).to.equal(
          false,
        );
      }),
    );
  });

  const addresses: Readonly<Record<string, boolean>> = {
    '2606:4700:4700::1111': true,
    '2a00:1450:4001:80b::200e': true,
    '2001:4860:4860::8888': true,
    '2001:db8::1': false,
    '2001:2::1': false,
    '2001:10::1': false,
    '2001:20::1': false,
    '2002::1': false,
    '3fff::1': false,
    '2606:4700:4700::1111%eth0': false,
    'fe80::1%eth0': false,
    'one.one.one.one': false,
    '1.1.1': false,
    '': false,
  };
  for (const [address, expected] of Object.entries(addresses)) {
    it(`${expected ? 'include' : 'do not include'} "${address}"`, () => {
      expect(isPublic(address)).to.equal(expected);
    });
  }
});

describe('network guard', () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    'public.example': ['93.184.215.14', '2606:4700::1'],
    'private.example': ['10.0.0.1'],
    'mixed.example': ['93.184.215.14', '10.0.0.1'],
    'zone.example': ['fe80::1%eth0'],
    'named.example': ['10.1.2.3', '::ffff:10.1.2.4', 'fd00::5'],
  };
  const networks = new BlockList();
  networks.addSubnet('10.1.0.0', 16, 'ipv4');
  networks.addSubnet('fd00::', 8, 'ipv6');
  const judge = (url: string, allowed: BlockList | null = null): Promise<Verdict> =>
    networkGuard((name) => {
      if (name === 'unavailable.example') throw new ResolverUnavailable();
      return Promise.resolve(names[name] ?? []);
    }, allowed)(new URL(url));
  const refused = (reason: string): Verdict => ({ type: 'refused', reason });

  it('allows https to public addresses, and returns the resolved ones', async () => {
    for (const allowed of [null, networks]) {
      expect(await judge('https://public.example:8443/hook', allowed)).to.deep.equal({
        type: 'allowed',
        addresses: names['public.example'],
      });
    }
    const literal = { type: 'allowed', addresses: ['8.8.8.8'] };
    expect(await judge('https://8.8.8.8')).to.deep.equal(literal);
    expect(await judge('https://[::ffff:8.8.8.8]')).to.deep.equal(literal);
  });

  it('refuses other schemes, and http to public addresses', async () => {
    for (const allowed of [null, networks]) {
      for (const url of ['http://public.example', 'ftp://public.example', 'data:,', 'file:///']) {
        expect(await judge(url, allowed), url).to.deep.equal(refused('only https is allowed'));
      }
    }
  });

  it('refuses a name with any disallowed address, without the address', async () => {
    const refusal = refused('an address of the name is not allowed');
    for (const name of ['private', 'mixed', 'zone', 'named']) {
      expect(await judge(`https://${name}.example`), name).to.deep.equal(refusal);
    }
    for (const name of ['private', 'mixed', 'zone']) {
      expect(await judge(`https://${name}.example`, networks), name).to.deep.equal(refusal);
    }
    expect(await judge('https://10.0.0.1', networks)).to.deep.equal(
      refused('the address 10.0.0.1 is not allowed'),
    );
  });

  it('refuses user names and passwords', async () => {
    for (const url of ['https://a@public.example', 'https://:b@public.example']) {
      expect((await judge(url)).type).to.equal('refused');
    }
  });

  it('reports names without an address, and unavailable DNS servers', async () => {
    expect(await judge('https://unknown.example')).to.deep.equal({
      ...{ type: 'unresolved', reason: 'the name does not resolve' },
    });
    expect(await judge('https://unavailable.example')).to.deep.equal({
      ...{ type: 'unresolved', reason: 'no DNS server answered' },
    });
    expect((await judge('http://unknown.example')).type).to.equal('refused');
  });

  it('allows https and http to the networks', async () => {
    for (const scheme of ['https', 'http']) {
      expect(await judge(`${scheme}://named.example`, networks)).to.deep.equal({
        type: 'allowed',
        addresses: ['10.1.2.3', '10.1.2.4', 'fd00::5'],
      });
    }
  });

  it('allows exactly the named addresses besides the public ones', async () => {
    const special = fc.oneof(...specialIpv4.map(ipv4In));
    const any = ipv4In('0.0.0.0/0');
    await fc.assert(
      fc.asyncProperty(special, any, fc.nat(32), async (ipv4, other, length) => {
        const network = new BlockList();
        network.addSubnet(ipv4, length, 'ipv4');
        for (const address of [ipv4, other, `[::ffff:${ipv4}]`]) {
          const isNamed = address !== other || network.check(other);
          const { type } = await judge(`https://${address}`, network);
          expect(type).to.equal(isNamed || isPublic(address) ? 'allowed' : 'refused');
        }
        for (const form of embedded(ipv4)) {
          expect((await judge(`https://[${form}]`, network)).type, form).to.equal('refused');
        }
      }),
    );
  });
});
