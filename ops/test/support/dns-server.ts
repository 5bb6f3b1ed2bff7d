import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { createServer, isIPv4, type AddressInfo, type Socket } from 'node:net';
import { decode, encode, streamDecode, streamEncode, type Answer, type Packet } from 'dns-packet';
import { fixture, type FixtureOptions } from './fixture.js';

/** A value of a TXT record: a text, or the strings of at most 255 bytes each that it consists of. */
type TxtValue = string | readonly string[];

/** The records of a name. */
interface NameRecords {
  readonly txt: readonly TxtValue[];
  /** For A and for AAAA queries: the addresses of the next responses; the last ones are repeated. */
  readonly A: readonly (readonly string[])[];
  readonly AAAA: readonly (readonly string[])[];
  readonly cname: string | null;
}

const noRecords: NameRecords = { txt: [], A: [], AAAA: [], cname: null };

/** The low bits of the flags are the response code (RFC 1035). */
const codes = { noError: 0, serverFailure: 2, nameError: 3 } as const;

const truncatedFlag = 1 << 9;

/** How the server responds to a query; `records`: with the records of the name, or NXDOMAIN without any. */
type DnsMode = 'records' | 'silent' | 'SERVFAIL' | 'truncated';

/** A DNS server on loopback, by UDP and TCP, for records that tests set. */
export const startDnsServer = async () => {
  const records = new Map<string, NameRecords>();
  const connections = new Set<Socket>();
  let mode: DnsMode = 'records';
  let queries = 0;

  const setRecords = (name: string, changed: Partial<NameRecords>): void => {
    const key = name.toLowerCase();
    records.set(key, { ...(records.get(key) ?? noRecords), ...changed });
  };

  const answersTo = (name: string, type: string): Answer[] => {
    const { txt, cname, ...addresses } = records.get(name.toLowerCase()) ?? noRecords;
    if (cname !== null) {
      return [{ type: 'CNAME', name, ttl: 0, data: cname }, ...answersTo(cname, type)];
    }
    if (type === 'TXT') {
      return txt.map((value) => ({
        ...{ type, name, ttl: 0, data: typeof value === 'string' ? value : [...value] },
      }));
    }
    if (type !== 'A' && type !== 'AAAA') return [];
    const [current = [], ...later] = addresses[type];
    if (later.length > 0) setRecords(name, { [type]: later });
    return current.map((data) => ({ type, name, ttl: 0, data }));
  };

  /** `null`: no response. */
  const respondTo = ({ id, questions = [] }: Packet, isTcp: boolean): Packet | null => {
    queries += 1;
    if (mode === 'silent') return null;
    const [question] = questions;
    const name = question?.name ?? '';
    const response = (flags: number): Packet => ({
      ...{ type: 'response', flags, questions, answers: [] },
      ...(id !== undefined && { id }),
    });
    if (mode === 'SERVFAIL') return response(codes.serverFailure);
    if (mode === 'truncated' && !isTcp) return response(truncatedFlag);
    if (!records.has(name.toLowerCase())) return response(codes.nameError);
    const answers = answersTo(name, question?.type ?? '');
    return { ...response(codes.noError), answers };
  };

  const tcp = createServer((socket) => {
    connections.add(socket);
    let received = Buffer.alloc(0);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      // Two bytes of length precede a message.
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const response = respondTo(streamDecode(received.subarray(0, end)), true);
        received = received.subarray(end);
        if (response) socket.write(streamEncode(response));
      }
    });
  });
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;

  const udp = createSocket('udp4');
  udp.on('message', (message, client) => {
    const response = respondTo(decode(message), false);
    if (response) udp.send(encode(response), client.port, client.address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');

  return {
    /** The address for DNS_SERVERS. */
    address: `127.0.0.1:${port}`,
    /** The number of queries, those without a response included. */
    get queries() {
      return queries;
    },
    /** `truncated`: complete responses only by TCP. */
    get mode(): DnsMode {
      return mode;
    },
    set mode(next: DnsMode) {
      mode = next;
    },
    /** Sets the values of a name; without values, the name exists without TXT records. */
    setTxt(name: string, ...values: readonly TxtValue[]) {
      setRecords(name, { txt: values });
    },
    /**
     * Sets the IPv4 and IPv6 addresses of a name. With several lists, each query of a type gets the next list; the
     * last one is repeated.
     */
    setAddresses(name: string, ...responses: readonly (readonly string[])[]) {
      setRecords(name, {
        A: responses.map((addresses) => addresses.filter(isIPv4)),
        AAAA: responses.map((addresses) => addresses.filter((address) => !isIPv4(address))),
      });
    },
    /** Makes a name an alias. */
    setCname(name: string, target: string) {
      setRecords(name, { cname: target });
    },
    /** Removes the name: queries get NXDOMAIN. */
    remove(name: string) {
      records.delete(name.toLowerCase());
    },
    async close(): Promise<void> {
      for (const socket of connections) socket.destroy();
      udp.close();
      tcp.close();
      await Promise.all([once(udp, 'close'), once(tcp, 'close')]);
    },
  };
};

export type DnsServerDouble = Awaited<ReturnType<typeof startDnsServer>>;

export const dnsServerFixture = (options?: FixtureOptions): DnsServerDouble =>
  fixture(
    () => startDnsServer(),
    (server) => server.close(),
    options,
  );
