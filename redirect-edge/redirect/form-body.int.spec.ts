import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { rejection } from '../../ops/test/support/waiting.js';
import { readForm } from './form-body.js';

describe('redirect edge: form', () => {
  /** Sends a form; what is read of it. */
  const read = async (body: string, type = 'application/x-www-form-urlencoded') => {
    const server = createServer().listen(0);
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port);
    const length = Buffer.byteLength(body, 'latin1');
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
    );
    socket.write(body, 'latin1');
    try {
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      return await readForm(request, 100);
    } finally {
      socket.destroy();
      server.close();
    }
  };
  const password = async (body: string) => {
    const form = await read(body);
    return form instanceof URLSearchParams ? form.get('password') : form;
  };

  it('is read as UTF-8, percent-encoded or not', async () => {
    expect(await password('password=sch%C3%B6n')).to.equal('schön');
    expect(await password('password=sch\xc3\xb6n')).to.equal('schön');
    expect(await password('password=sch\xc3%b6n+1')).to.equal('schön 1');
    // A percent sign that encodes nothing stands for itself.
    expect(await password('password=100%&b=%zz')).to.equal('100%');
    expect(await password('password=%EF%BF%BD')).to.equal('\ufffd');
    expect(await password('')).to.equal(null);
  });

  for (const body of ['password=sch%F6n', 'password=sch\xf6n', 'a=%C3&password=a', 'a=%ED%A0%80']) {
    it(`is rejected if its bytes are not UTF-8: ${JSON.stringify(body)}`, async () => {
      expect(await read(body)).to.equal('invalidUtf8');
    });
  }

  it('is rejected in another charset than UTF-8', async () => {
    const type = 'application/x-www-form-urlencoded';
    for (const charset of ['utf-8', 'UTF8', '"utf-8"', ' Utf-8 ; a=b']) {
      expect(await read('a=b', `${type}; charset=${charset}`)).to.be.instanceOf(URLSearchParams);
    }
    for (const charset of ['iso-8859-1', '"windows-1252"', 'utf-16', 'utf-8x']) {
      expect(await read('a=b', `${type}; charset=${charset}`)).to.equal('wrongContentType');
    }
  });

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
