import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { fixture } from '../../ops/test/support/fixture.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { readForm } from './form-body.js';

describe('redirect edge: form', () => {
  const formType = 'application/x-www-form-urlencoded';
  const server = fixture(
    async () => {
      const listening = createServer().listen(0);
      await once(listening, 'listening');
      return listening;
    },
    (listening) => listening.close(),
  );
  const send = async (
    body: string,
    type = formType,
    length = Buffer.byteLength(body, 'latin1'),
  ) => {
    const socket = connect((server.address() as AddressInfo).port);
    const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${length}`;
    socket.write(`${head}\r\n\r\n${body}`, 'latin1');
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    return { socket, request };
  };
  const read = async (body: string, type?: string) => {
    const { socket, request } = await send(body, type);
    try {
      return await readForm(request, 100);
    } finally {
      socket.destroy();
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
    // A percent sign that encodes nothing is literal.
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
    for (const charset of ['utf-8', 'UTF8', '"utf-8"', ' Utf-8 ; a=b']) {
      expect(await read('a=b', `${formType}; charset=${charset}`)).to.be.instanceOf(
        URLSearchParams,
      );
    }
    for (const charset of ['iso-8859-1', '"windows-1252"', 'utf-16', 'utf-8x']) {
      expect(await read('a=b', `${formType}; charset=${charset}`)).to.equal('wrongContentType');
    }
  });

  it('rejects if the client aborts the request before the form is read', async () => {
    const { socket, request } = await send('half', formType, 9);
    // Without a listener for its error, as during the look-up of a link. `once` of node:events would add one.
    const closed = new Promise<void>((resolve) => request.once('close', resolve));
    socket.destroy();
    await closed;
    expect(await rejection(readForm(request, 100))).to.include({ code: 'ECONNRESET' });
  });
});
