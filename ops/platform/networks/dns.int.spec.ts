import { expect } from 'chai';
import { dnsServerFixture, startDnsServer } from '../../test/support/dns-server.js';
import {
  addressLookup,
  type AddressLookup,
  type DnsServer,
  ResolverUnavailable,
  txtLookup,
} from './dns.js';
import { rejection } from '../../test/support/waiting.js';

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

const name = '_linklog.go.example';
const withinMs = 300;

describe('TXT records', () => {
  const dns = dnsServerFixture({ per: 'test' });
  const serverOf = ({ address }: { readonly address: string }, host?: string): DnsServer => {
    const { hostname, port } = new URL(`http://${address}`);
    return { host: host ?? hostname, port: Number(port) };
  };
  const lookup = (text: string, servers = [serverOf(dns)]): Promise<readonly string[]> =>
    txtLookup(servers, withinMs)(text);

  it('are all values of a name, each of them in one piece', async () => {
    const long = ['a'.repeat(255), 'b'.repeat(255), 'c'];
    dns.setTxt(name, 'v=spf1 -all', 'linklog=token', 'ü', long, ['link', 'log=', 'split']);
    expect(await lookup(name)).to.have.members([
      ...['v=spf1 -all', 'linklog=token', 'ü', long.join(''), 'linklog=split'],
    ]);
  });

  it('are read by TCP if the response does not fit into a datagram', async () => {
    dns.setTxt(name, 'linklog=token');
    dns.mode = 'truncated';
    expect(await lookup(name)).to.deep.equal(['linklog=token']);
  });

  it('are not cached', async () => {
    expect(await lookup(name)).to.deep.equal([]);
    dns.setTxt(name, 'one');
    expect(await lookup(name)).to.deep.equal(['one']);
    dns.setTxt(name, 'two');
    expect(await lookup(name)).to.deep.equal(['two']);
  });

  it('are none if the name does not exist, has no TXT record or is too long', async () => {
    expect(await lookup(name)).to.deep.equal([]);
    dns.setTxt(name);
    expect(await lookup(name)).to.deep.equal([]);
    expect(await lookup(`_linklog.${`${'a'.repeat(60)}.`.repeat(5)}example`)).to.deep.equal([]);
  });

  it('are unavailable if the server is silent, responds with SERVFAIL, or does not listen', async () => {
    const unavailable = async (server: { readonly address: string } = dns) => {
      const failed = await rejection(lookup(name, [serverOf(server)]));
      expect(failed).to.be.instanceOf(ResolverUnavailable);
    };
    for (const mode of ['silent', 'SERVFAIL'] as const) {
      dns.mode = mode;
      await unavailable();
    }
    expect(dns.queries).to.be.at.least(2);
    const closed = await startDnsServer();
    await closed.close();
    await unavailable(closed);
  });

  it('come from a server whose name the system resolves', async () => {
    dns.setTxt(name, 'one');
    expect(await lookup(name, [serverOf(dns, 'localhost')])).to.deep.equal(['one']);
  });
});
