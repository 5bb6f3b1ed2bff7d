import { expect } from 'chai';
import { dnsServerFixture, startDnsServer } from '../test/support/dns-server.js';
import { rejection } from '../test/support/waiting.js';
import { ResolverUnavailable, type DnsServer } from './dns-query.js';
import { txtLookup } from './txt-records.js';

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
