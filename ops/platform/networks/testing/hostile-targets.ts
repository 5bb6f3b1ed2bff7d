/**
 * URLs that make a server request its own network. `PORT` in a URL is to be replaced by the port of a listener that no
 * request may reach.
 */
import type { DnsServerDouble } from '../../../test/support/dns-server.js';

/** Where specs have receivers that requests may reach. */
export const receiverAddress = '127.0.0.2';

/** The names of 127.0.0.1 in the DNS server. */
const loopbackNames: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
};

/**
 * Has a public address and 127.0.0.1. If 127.0.0.1 is in an allowed network, a request by https may connect to the
 * public one.
 */
const mixedName = 'mixed.example';

/** Other names in the DNS server. Each has an address that is not public. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  'loopback-6.example': ['::1'],
  'private.example': ['10.0.0.1'],
  [mixedName]: ['8.8.8.8', '127.0.0.1'],
  'mixed-families.example': ['8.8.8.8', '::1'],
  'mixed-networks.example': [receiverAddress, '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'metadata-6.example': ['fd00:ec2::254'],
  'unspecified.example': ['0.0.0.0'],
  'unspecified-6.example': ['::'],
  'nat64.example': ['64:ff9b::7f00:1'],
  '6to4.example': ['2002:7f00:1::'],
  'link-local.example': ['fe80::1'],
};

/** Addresses of hostile names, by name. */
const hostileNames = { ...loopbackNames, ...otherNames };

export const setHostileNames = (dns: DnsServerDouble): void => {
  for (const [name, addresses] of Object.entries(hostileNames)) dns.setAddresses(name, addresses);
  dns.setCname('alias.example', 'alias-2.example');
  dns.setCname('alias-2.example', 'loopback.example');
};

/** Forms of 127.0.0.1. */
const loopbackHosts = [
  ...['127.0.0.1', '127.1', '127.0.1', '0x7f.1', '0x7f.0.0.1', '0x7f000001'],
  ...['2130706433', '0177.0.0.1', '0177.1', '017700000001', '127.0.0.1.', '127.0x0.0.01'],
  ...['１２７.0.0.1', '①②⑦.1', '127。0。0。1', '%31%32%37.0.0.1', '%3127.1', '127.0.0.%31'],
  ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:FFFF:127.0.0.1]'],
  ...['localhost', 'LOCALHOST', 'localhost.', 'foo.localhost', 'foo.bar.localhost.'],
  ...['%6cocalhost', 'ⓛocalhost', 'ｌｏｃａｌｈｏｓｔ'],
  ...[...Object.keys(loopbackNames), 'alias.example', 'ALIAS.example.'],
];

/** Addresses that are not public and not 127.0.0.1. Some embed it, such as NAT64 and 6to4. */
const otherHosts = [
  ...['127.255.255.254', '0', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255'],
  ...['192.168.0.1', '100.64.0.1', '100.100.100.200', '169.254.169.254', '169.254.169.253'],
  ...['192.0.0.192', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '192.88.99.1'],
  ...['224.0.0.1', '239.255.255.250', '240.0.0.1', '255.255.255.255', '[::1]'],
  ...['[0:0:0:0:0:0:0:1]', '[::]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]', '[::ffff:10.0.0.1]'],
  ...['[::ffff:169.254.169.254]', '[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[fc00::1]'],
  ...['[fd00::1]', '[fd00:ec2::254]', '[fe80::1]', '[fec0::1]', '[2002:7f00:1::]'],
  ...['[2001:0:7f00:1::]', '[2001:db8::1]', '[3fff::1]', '[100::1]', '[ff02::1]', '[4000::1]'],
  ...Object.keys(otherNames),
];

const urlOf = (host: string): string => `https://${host}:PORT/hook`;

/** URLs of 127.0.0.1, which requests may reach only if an allowed network has that address. */
const loopbackUrls: readonly string[] = [
  ...loopbackHosts.map(urlOf),
  ...['https:///127.0.0.1:PORT', 'https:\\\\127.0.0.1:PORT', 'https://127.0.0.1:PORT#@example.com'],
  'https://127.0.0.1:PORT\\@example.com',
];

/** URLs that no request may reach, even if the allowed network is 127.0.0.1 or `receiverAddress`. */
const otherUrls: readonly string[] = [
  ...otherHosts.map(urlOf),
  ...['https://example.com@127.0.0.1:PORT', 'https://user:secret@127.0.0.1:PORT'],
  ...[`https://user@${receiverAddress}:PORT`, 'ftp://127.0.0.1:PORT/file'],
  ...['gopher://127.0.0.1:PORT/_POST', 'ws://127.0.0.1:PORT', 'redis://127.0.0.1:PORT'],
  ...['postgres://127.0.0.1:PORT', 'unix:///var/run/docker.sock', 'file:///etc/passwd'],
  ...['file://127.0.0.1/etc/passwd', 'data:,hook', 'javascript:0'],
];

export const hostileUrls: readonly string[] = [...loopbackUrls, ...otherUrls];
