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
    const form = await readForm(request, 100).finally(() => socket.destroy());
    return form instanceof URLSearchParams ? form.get('password') : form;
  };

  for (const [body, password] of [
    ['password=sch%C3%B6n', 'schön'],
    ['password=sch\xc3\xb6n', 'schön'],
    ['password=sch\xc3%b6n+1', 'schön 1'],
    // A percent sign that encodes nothing is literal.
    ['password=100%&b=%zz', '100%'],
    ['password=%EF%BF%BD', '\ufffd'],
    ['', null],
  ] as const) {
    it(`is read as UTF-8, percent-encoded or not: ${JSON.stringify(body)}`, async () => {
      expect(await read(body)).to.equal(password);
    });
  }

  for (const body of ['password=sch%F6n', 'password=sch\xf6n', 'a=%C3&password=a', 'a=%ED%A0%80']) {
    it(`is rejected if its bytes are not UTF-8: ${JSON.stringify(body)}`, async () => {
      expect(await read(body)).to.equal('invalidUtf8');
    });
  }

  it('is rejected in another charset than UTF-8', async () => {
    const readAs = (charset: string) => read('password=a', `${formType}; charset=${charset}`);
    for (const charset of ['utf-8', 'UTF8', '"utf-8"', ' Utf-8 ; a=b'])
      expect(await readAs(charset)).to.equal('a');
    for (const charset of ['iso-8859-1', '"windows-1252"', 'utf-16', 'utf-8x'])
      expect(await readAs(charset)).to.equal('wrongContentType');
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
