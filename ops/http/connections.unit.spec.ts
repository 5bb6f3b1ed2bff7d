import { expect } from 'chai';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { maxConnections, OpenConnections } from './connections.js';

describe('platform: open connections', () => {
  const proxy = '192.0.2.1';
  let opened: OpenConnections;
  beforeEach(() => {
    opened = new OpenConnections((address) => address === proxy);
  });

  /** Opens connections, and returns the accepted sockets. */
  const open = (count: number, address: (index: number) => string): EventEmitter[] =>
    Array.from({ length: count }, (_, index) =>
      Object.assign(new EventEmitter(), {
        remoteAddress: address(index),
        destroy: () => undefined,
      }),
    ).filter((socket) => opened.add(socket as unknown as Socket));

  it('are limited to half of the free connections for each client', () => {
    expect(open(5_001, () => '198.51.100.1')).to.have.length(5_000);
    // An IPv6 client has the addresses of a whole /64.
    const client = (index: number): string => `2001:db8::${(index % 500).toString(16)}`;
    expect(open(2_501, client)).to.have.length(2_500);
    expect(open(1, () => '198.51.100.2')).to.have.length(1);
    expect(opened.refused).to.equal(2);
  });

  it('are free for a client again after it closes its connections', () => {
    for (const socket of open(5_000, () => '198.51.100.1')) socket.emit('close');
    expect(opened.sockets.size).to.equal(0);
    expect(open(5_001, () => '198.51.100.1')).to.have.length(5_000);
  });

  it('are not limited for a trusted proxy', () => {
    expect(open(maxConnections, () => proxy)).to.have.length(maxConnections);
    expect(opened.refused).to.equal(0);
  });
});
