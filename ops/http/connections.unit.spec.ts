import { expect } from 'chai';
import { Socket } from 'node:net';
import { maxConnections, OpenConnections } from './connections.js';

describe('platform: open connections', () => {
  const proxy = '192.0.2.1';
  const connections = (): OpenConnections => new OpenConnections((address) => address === proxy);

  const socketOf = (remoteAddress: string): Socket =>
    Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });

  /** @returns the accepted sockets */
  const open = (to: OpenConnections, count: number, address: (index: number) => string): Socket[] =>
    Array.from({ length: count }, (_, index) => socketOf(address(index))).filter((socket) =>
      to.add(socket),
    );

  it('are limited to half of the free connections for each client', () => {
    const opened = connections();
    expect(open(opened, maxConnections, () => '198.51.100.1')).to.have.length(5_000);
    // An IPv6 client has the addresses of a whole /64.
    const client = (index: number): string => `2001:db8::${(index % 500).toString(16)}`;
    expect(open(opened, maxConnections, client)).to.have.length(2_500);
    expect(open(opened, 2, () => '198.51.100.2')).to.have.length(2);
    expect(opened.refused).to.equal(12_500);
  });

  it('are free for a client again after it closes its connections', async () => {
    const opened = connections();
    const first = open(opened, maxConnections, () => '198.51.100.1');
    for (const socket of first) socket.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    expect(opened.sockets.size).to.equal(0);
    expect(open(opened, maxConnections, () => '198.51.100.1')).to.have.length(5_000);
  });

  it('are not limited for a trusted proxy', () => {
    const opened = connections();
    expect(open(opened, maxConnections, () => proxy)).to.have.length(maxConnections);
    expect(opened.refused).to.equal(0);
  });
});
