import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { isInNetworks, networkIn } from './networks.js';

const address = fc.oneof(
  fc.ipV4(),
  // ipaddr.js takes an IPv4-compatible address (RFC 4291, 2.5.5.1) for an IPv4-mapped one.
  fc.ipV6().filter((text) => !/^::\d+\./.test(text)),
  fc.ipV4().map((text) => `::ffff:${text}`),
);

describe('schemas: networks', () => {
  it('are those that Node.js reads, without zones', () => {
    fc.assert(
      fc.property(fc.oneof(address, fc.stringMatching(/^[\da-f:.]{0,20}$/)), (text) => {
        expect(networkIn(text) !== null, text).to.equal(isIP(text) !== 0);
      }),
      { numRuns: 2_000 },
    );
    for (const text of ['fe80::1%eth0', '::1/', '::1/x', '1.2.3.4/33', '::/129', '/8', '', ':::']) {
      expect(networkIn(text), text).to.equal(null);
    }
  });

  it('have the addresses that ipaddr.js finds in them', () => {
    fc.assert(
      fc.property(
        address,
        address,
        fc.nat({ max: 128 }),
        fc.boolean(),
        (text, client, bits, same) => {
          const visitor = same ? text : client;
          const [network, found] = [ipaddr.process(text), ipaddr.process(visitor)];
          const isIpv4 = network.kind() === 'ipv4';
          const prefix = isIpv4 ? bits % 33 : bits;
          const written = isIpv4 && text.includes(':') ? prefix + 96 : prefix;
          const expected = network.kind() === found.kind() && found.match(network, prefix);
          expect(isInNetworks([`${text}/${written}`], visitor)).to.equal(expected);
        },
      ),
      { numRuns: 2_000 },
    );
    expect(isInNetworks(['1.2.3.4'], '::1.2.3.4')).to.be.false;
    expect(isInNetworks(['::102:304'], '::1.2.3.4')).to.be.true;
  });
});
