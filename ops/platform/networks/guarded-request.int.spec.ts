import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { BlockList, type AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'chai';
import { createAuthority, type KeyPair } from '../../test/support/certificates.js';
import { dnsServerFixture } from '../../test/support/dns-server.js';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { eventually } from '../../test/support/waiting.js';
import { deferred } from '../concurrency/deferred.js';
import { addressLookup } from './dns.js';
import { guardedPost, type PostOptions, type PostOutcome } from './guarded-request.js';
import { networkGuard, type NetworkGuard } from './network-guard.js';
import { hostileResponses, noContent, ok, timedOut } from './testing/hostile-responses.js';
import { hostileUrls, receiverAddress, setHostileNames } from './testing/hostile-targets.js';
import { listen, type RawListener, type Respond } from './testing/raw-listener.js';
import { needs } from '../../test/support/needs.js';

/** The network that some tests allow. */
const named = new BlockList();
named.addAddress(receiverAddress);

/** For requests without a response (ms). */
const timeoutMs = 300;

const withReceiver = async (
  respond: Respond,
  work: (url: string, receiver: RawListener) => Promise<void>,
): Promise<void> => {
  const receiver = await listen(receiverAddress, respond);
  try {
    await work(`http://named.example:${receiver.port}`, receiver);
  } finally {
    await receiver.close();
  }
};

describe('guarded requests', () => {
  const dns = dnsServerFixture({ per: 'test' });
  /** On all addresses of this machine. */
  const canary = fixture(
    () => listen('::', (socket) => socket.end(noContent)),
    (listener) => listener.close(),
    { per: 'test' },
  );
  const folder = folderFixture();

  const guardOf = (networks: BlockList | null): NetworkGuard => {
    const [host = '', port] = dns.address.split(':');
    return networkGuard(addressLookup([{ host, port: Number(port) }], timeoutMs), networks);
  };
  const body = '{"title":"ü"}';
  interface Settings extends PostOptions {
    readonly networks?: BlockList | null;
    readonly ca?: string;
  }
  const post = (
    url: string,
    { networks = named, ca = '', ...options }: Settings = {},
  ): Promise<PostOutcome> =>
    guardedPost(guardOf(networks), ca === '' ? {} : { ca })(
      ...([new URL(url), { 'webhook-id': 'msg_1' }, body] as const),
      { timeoutMs, ...options },
    );
  const failure = async (outcome: Promise<PostOutcome>): Promise<string> => {
    const result = await outcome;
    expect(result).to.have.all.keys('type', 'error', 'durationMs');
    return result.type === 'failed' ? result.error : '';
  };

  beforeEach(() => {
    setHostileNames(dns);
    dns.setAddresses('named.example', [receiverAddress]);
  });

  for (const hostile of hostileUrls) {
    it(`do not connect to ${hostile}`, async () => {
      const url = hostile.replace('PORT', String(canary.port));
      for (const target of [url, url.replace('https:', 'http:')]) {
        for (const networks of [null, named]) {
          expect((await guardOf(networks)(new URL(target))).type).to.equal('refused');
          expect(await failure(post(target, { networks }))).to.match(
            / not allowed$|^only https is allowed$/,
          );
        }
      }
      expect(canary.connections).to.deep.equal([]);
    });
  }

  it('reach named addresses, and only those', async () => {
    const hosts = [receiverAddress, '127.2', '2130706434', 'named.example', 'NAMED.example.'];
    for (const [index, host] of hosts.entries()) {
      const url = `http://${host}:${canary.port}`;
      expect(await post(url), host).to.deep.include({ type: 'responded', status: 204 });
      expect(canary.connections, host).to.deep.equal(Array(index + 1).fill(receiverAddress));
      expect(await failure(post(url, { networks: null }))).to.equal('only https is allowed');
    }
    expect(canary.connections).to.have.length(hosts.length);
  });

  it('connect to the checked address of a name that changes', async () => {
    const url = `http://rebinding.example:${canary.port}`;
    dns.setAddresses('rebinding.example', [receiverAddress], ['127.0.0.1']);
    const before = dns.queries;
    expect(await post(url)).to.have.property('status', 204);
    expect(dns.queries - before).to.equal(2);
    expect(await failure(post(url))).to.equal('an address of the name is not allowed');
    expect(canary.connections).to.deep.equal([receiverAddress]);
  });

  it('connect to another checked address if the first one refuses the connection', async () => {
    const networks = new BlockList();
    networks.addSubnet('127.0.0.0', 8, 'ipv4');
    dns.setAddresses('two.example', ['127.0.0.3', receiverAddress]);
    let two = '';
    await withReceiver(
      (socket) => socket.end(noContent),
      async (url) => {
        two = url.replace('named', 'two');
        expect(await post(two, { networks })).to.have.property('status', 204);
      },
    );
    expect(await failure(post(two, { networks }))).to.equal('connection refused');
  });

  it('report names that do not resolve, and silent DNS servers', async () => {
    const url = `http://unknown.example:${canary.port}`;
    expect(await failure(post(url))).to.equal('the name does not resolve');
    expect((await guardOf(null)(new URL('https://unknown.example'))).type).to.equal('unresolved');
    for (const mode of ['silent', 'SERVFAIL'] as const) {
      dns.mode = mode;
      expect(await failure(post(url, { timeoutMs: 2_000 }))).to.equal('no DNS server answered');
    }
    dns.mode = 'silent';
    expect(await failure(post(url, { timeoutMs: 50 }))).to.equal('no response within 0.05 s');
  });

  it('send method, path, host, headers and body', () =>
    withReceiver(
      (socket) => socket.end(`HTTP/1.1 429 Later\r\nRetry-After: 120\r\n\r\nsecret`),
      async (url, { requests }) => {
        const outcome = await post(`${url}/a%20b?c=d#e`);
        expect(outcome).to.include({ status: 429, retryAfter: '120' });
        expect(requests[0]?.split('\r\n')).to.include.members([
          ...['POST /a%20b?c=d HTTP/1.1', `Host: ${new URL(url).host}`, 'webhook-id: msg_1'],
          ...['Content-Length: 14', 'Connection: close', Buffer.from(body).toString('latin1')],
        ]);
      },
    ));

  for (const [what, [respond, expected]] of Object.entries(hostileResponses)) {
    it(`report ${what}`, () =>
      withReceiver(respond, async (url) => {
        const outcome = await post(url);
        const result = outcome.type === 'responded' ? outcome.status : outcome.error;
        expect(result).to.equal(expected ?? timedOut(timeoutMs));
      }));
  }

  it('do not follow redirects', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://${receiverAddress}:${canary.port}`;
      await withReceiver(
        (socket) => socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\n\r\n`),
        async (url) => {
          expect(await post(url)).to.have.property('status', status);
        },
      );
    }
    expect(canary.connections).to.deep.equal([]);
  });

  it('read at most 64 KiB of a body, and close the connection', async () => {
    const block = Buffer.alloc(16_384);
    let sent = 0;
    const closed = deferred();
    const respond: Respond = (socket) => {
      const send = (): void => {
        do sent += block.length;
        while (socket.write(block));
      };
      socket.on('drain', send).on('close', closed.resolve);
      socket.write(`${ok}\r\n`);
      send();
    };
    await withReceiver(respond, async (url) => {
      expect(await post(url, { timeoutMs: 60_000 })).to.have.property('status', 200);
      await closed.promise;
      // With the buffers of both sockets.
      expect(sent).to.be.below(16 * 1_024 ** 2);
    });
  });

  it('end when they are cancelled, before and after the start', () =>
    withReceiver(
      () => undefined,
      async (url, { connections }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const outcome = post(url, { signal, timeoutMs: 60_000 });
        await eventually('the request is received', () => connections.length > 0);
        controller.abort();
        for (const cancelled of [outcome, post(url, { signal })]) {
          expect(await failure(cancelled)).to.equal('the request was cancelled');
        }
      },
    ));

  describe('with TLS', () => {
    needs('openssl');
    const handshakes: (string | false | null)[] = [];
    const start = async ({ cert, key }: KeyPair) => {
      const server = createTlsServer(
        { cert: await readFile(cert), key: await readFile(key) },
        (socket) => {
          handshakes.push(socket.servername);
          socket.on('error', () => undefined).once('data', () => socket.end(noContent));
        },
      ).on('tlsClientError', () => undefined);
      server.listen(0, receiverAddress);
      await once(server, 'listening');
      return server;
    };
    const setUp = async () => {
      const authority = await createAuthority(folder.path, 'authority');
      const names = 'subjectAltName=DNS:named.example,IP:127.0.0.2';
      const server = await start(await authority.issue('receiver', [names]));
      return {
        ca: await readFile(authority.ca, 'utf8'),
        port: (server.address() as AddressInfo).port,
        server,
      };
    };
    const receiver = fixture(setUp, ({ server }) => {
      server.close();
    });
    beforeEach(() => {
      handshakes.length = 0;
      dns.setAddresses('other.example', [receiverAddress]);
    });

    it('verify the certificate and send the name', async () => {
      const { ca, port } = receiver;
      for (const host of ['named.example', 'named.example.', receiverAddress]) {
        const outcome = await post(`https://${host}:${port}`, { ca, timeoutMs: 5_000 });
        expect(outcome, host).to.have.property('status', 204);
      }
      expect(handshakes).to.deep.equal(['named.example', 'named.example', false]);
    });

    it('refuse the certificate of another name, and one of an unknown authority', async () => {
      const { ca, port } = receiver;
      const invalid = 'the certificate is not valid: ';
      expect(
        await failure(post(`https://other.example:${port}`, { ca, timeoutMs: 5_000 })),
      ).to.equal(`${invalid}Hostname/IP does not match certificate's altnames`);
      expect(await failure(post(`https://named.example:${port}`, { timeoutMs: 5_000 }))).to.match(
        new RegExp(`^${invalid}unable to verify the first certificate$`),
      );
    });

    it('fail if the receiver speaks plain HTTP, or does not answer', async () => {
      const url = `https://named.example:${canary.port}`;
      expect(await failure(post(url))).to.equal('the TLS handshake failed');
      await withReceiver(
        () => undefined,
        async (silent) => {
          expect(await failure(post(silent.replace('http:', 'https:')))).to.equal(
            timedOut(timeoutMs),
          );
        },
      );
    });
  });
});
