import { BlockList } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import { ResolverUnavailable } from './dns.js';
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
      const property = fc.property(ipv4In(block), (ipv4) => {
        const forms = [ipv4, ...mapped(ipv4), ...embedded(ipv4)];
        expect(forms.filter(isPublic)).to.deep.equal([]);
      });
      fc.assert(property, { numRuns: 20 });
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
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        fc.pre((groups[0] ?? 0) >> 13 !== 1);
        const address = groups.map((value) => value.toString(16)).join(':');
        expect(isPublic(address)).to.equal(false);
      }),
    );
  });

  it('include addresses of 2000::/3 that are not reserved, but no names and zones', () => {
    const publicOnes = ['2606:4700:4700::1111', '2a00:1450:4001:80b::200e', '2001:4860:4860::8888'];
    const others = [
      ...['2001:db8::1', '2001:2::1', '2001:10::1', '2001:20::1', '2002::1', '3fff::1'],
      ...['2606:4700:4700::1111%eth0', 'fe80::1%eth0', 'one.one.one.one', '1.1.1', ''],
    ];
    expect([...publicOnes, ...others].filter(isPublic)).to.deep.equal(publicOnes);
  });
});

describe('network guard', () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    'public.example': ['93.184.215.14', '2606:4700::1'],
    'private.example': ['10.0.0.1'],
    'mixed.example': ['93.184.215.14', '10.0.0.1'],
    'zone.example': ['fd00::5%eth0'],
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

  const publicAddresses = names['public.example'] ?? [];
  const namedAddresses = ['10.1.2.3', '10.1.2.4', 'fd00::5'];
  const noHttps = 'only https is allowed';
  const disallowed = 'an address of the name is not allowed';
  const credentials = 'credentials in the URL are not allowed';
  /** The allowed addresses, or the reason, without and with `networks`. */
  const verdicts: readonly (readonly [
    url: string,
    without: string | readonly string[],
    withNetworks: string | readonly string[],
  ])[] = [
    ['https://public.example:8443/hook', publicAddresses, publicAddresses],
    ['https://8.8.8.8', ['8.8.8.8'], ['8.8.8.8']],
    ['https://[::ffff:8.8.8.8]', ['8.8.8.8'], ['8.8.8.8']],
    ['http://public.example', noHttps, noHttps],
    ['ftp://public.example', noHttps, noHttps],
    ['data:,', noHttps, noHttps],
    ['file:///', noHttps, noHttps],
    ['https://private.example', disallowed, disallowed],
    ['https://mixed.example', disallowed, disallowed],
    ['https://zone.example', disallowed, disallowed],
    ['https://named.example', disallowed, namedAddresses],
    ['http://named.example', noHttps, namedAddresses],
    ['https://a@public.example', credentials, credentials],
    ['https://:b@public.example', credentials, credentials],
    [
      'https://10.0.0.1',
      'the address 10.0.0.1 is not allowed',
      'the address 10.0.0.1 is not allowed',
    ],
    ['https://unknown.example', 'the name does not resolve', 'the name does not resolve'],
    ['https://unavailable.example', 'no DNS server answered', 'no DNS server answered'],
    ['http://unknown.example', noHttps, 'the name does not resolve'],
  ];
  for (const [url, ...expected] of verdicts) {
    it(`judges ${url} by its scheme and addresses, without and with networks`, async () => {
      const found = [await judge(url), await judge(url, networks)];
      expect(
        found.map((verdict) => (verdict.type === 'allowed' ? verdict.addresses : verdict.reason)),
      ).to.deep.equal(expected);
    });
  }

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
      { numRuns: 50 },
    );
  });
});
