import { expect } from 'chai';
import { dnsServerFixture } from '../../test/support/dns-server.js';
import { addressLookup, type AddressLookup } from './address-lookup.js';

describe('addresses of a name', () => {
  const dns = dnsServerFixture({ per: 'test' });
  const lookup: AddressLookup = (name) => {
    const [host = '', port] = dns.address.split(':');
    return addressLookup([{ host, port: Number(port) }], 300)(name);
  };

  it('are IPv4 and IPv6 addresses, also of an alias', async () => {
    dns.setAddresses('addresses.example', ['192.0.2.1', '2001:db8::1', '192.0.2.2']);
    dns.setAddresses('one.example', ['2001:db8::2']);
    dns.setCname('alias.example', 'addresses.example');
    const addresses = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
    expect(await lookup('addresses.example')).to.have.members(addresses);
    expect(await lookup('alias.example')).to.have.members(addresses);
    expect(await lookup('one.example')).to.deep.equal(['2001:db8::2']);
  });

  it('are none if the name does not exist, or has other records', async () => {
    dns.setTxt('text.example', 'text');
    for (const name of ['unknown.example', 'text.example', 'a..example']) {
      expect(await lookup(name), name).to.deep.equal([]);
    }
  });

  it('are those of the hosts file without servers', async () => {
    const addresses = await addressLookup([])('localhost');
    expect(addresses).to.have.length.of.at.least(1);
    expect(['127.0.0.1', '::1']).to.include.members([...new Set(addresses)]);
  });
});
