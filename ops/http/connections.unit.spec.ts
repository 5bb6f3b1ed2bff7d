import { expect } from 'chai';
import { Socket } from 'node:net';
import { maxConnections, OpenConnections } from './connections.js';

describe('platform: open connections', () => {
  const proxy = '192.0.2.1';
  const connections = (): OpenConnections => new OpenConnections((address) => address === proxy);

  const socketOf = (remoteAddress: string): Socket =>
    Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });

  /** @returns those for which there was room */
  const open = (to: OpenConnections, count: number, address: (index: number) => string): Socket[] =>
    Array.from({ length: count }, (_, index) => socketOf(address(index))).filter((socket) =>
      to.add(socket),
    );

  it('leave half of the room to others, and half of the rest to the next', () => {
    const all = connections();
    expect(open(all, maxConnections, () => '198.51.100.1')).to.have.length(5_000);
    // An IPv6 client has the addresses of a whole /64.
    const client = (index: number): string => `2001:db8::${(index % 500).toString(16)}`;
    expect(open(all, maxConnections, client)).to.have.length(2_500);
    expect(open(all, 2, () => '198.51.100.2')).to.have.length(2);
    expect(all.refused).to.equal(12_500);
  });

  it('have room for a client again when its connections are closed', async () => {
    const all = connections();
    const first = open(all, maxConnections, () => '198.51.100.1');
    for (const socket of first) socket.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    expect(all.sockets.size).to.equal(0);
    expect(open(all, maxConnections, () => '198.51.100.1')).to.have.length(5_000);
  });

  it('may all be a trusted proxy’s', () => {
    const all = connections();
    expect(open(all, maxConnections, () => proxy)).to.have.length(maxConnections);
    expect(all.refused).to.equal(0);
  });
});
