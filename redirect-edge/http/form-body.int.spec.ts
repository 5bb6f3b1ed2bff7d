import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { rejection } from '../../ops/test/support/waiting.js';
import { readForm } from './form-body.js';

describe('redirect edge: form', () => {
  it('rejects when the client broke off before the form is read', async () => {
    const server = createServer().listen(0);
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port);
    const type = 'Content-Type: application/x-www-form-urlencoded';
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${type}\r\nContent-Length: 9\r\n\r\nhalf`);
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    // Nobody hears its error, as while a link is looked up: `once` of node:events would.
    const closed = new Promise<void>((resolve) => request.once('close', resolve));
    socket.destroy();
    await closed;
    expect(await rejection(readForm(request, 100))).to.include({ code: 'ECONNRESET' });
    server.close();
  });
});
