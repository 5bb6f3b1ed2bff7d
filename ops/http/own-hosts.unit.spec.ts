import { expect } from 'chai';
import { ownHosts } from './own-hosts.js';

const listeners = [
  { host: '127.0.0.1', port: 8080 },
  { host: '0.0.0.0', port: 8081 },
  { host: '10.0.0.5', port: 8082 },
  { host: '::1', port: 8083 },
  { host: '2001:DB8:0:0:0:0:0:1', port: 8084 },
  { host: 'LocalHost', port: 8085 },
];

describe('platform: own hosts', () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    [
      'https://sho.rt',
      [
        ...['https://sho.rt/abc', 'http://sho.rt/abc', 'https://sho.rt:80/', 'http://sho.rt:443/'],
        ...['https://SHO.RT', 'https://sho.rt./abc', 'https://%73ho.rt/', 'https://ｓｈｏ.rt/'],
      ],
      ['https://sho.rt:8443/', 'https://www.sho.rt/', 'https://sho.rt.example.com/'],
    ],
    ['http://sho.rt', ['https://sho.rt/', 'http://sho.rt/'], ['http://sho.rt:8081/']],
    [
      'http://sho.rt:8081',
      ['http://sho.rt:8081/a', 'https://sho.rt:8081/a'],
      ['http://sho.rt/', 'https://sho.rt/', 'http://sho.rt:8082/'],
    ],
    ['http://[2001:db8::2]:99', ['http://[2001:DB8:0::2]:99/'], ['http://[2001:db8::2]/']],
    ['https://kürz.de', ['https://xn--krz-hoa.de/', 'http://KÜRZ.de/'], ['https://kurz.de/']],
    [
      'http://localhost:9999',
      [
        ...['localhost:8080/v2/shorten', '127.0.0.1:8080', '127.1:8080', '2130706433:8080'],
        ...['0x7f.0.0.0x1:8080', '0177.0.0.1:8080', '[::ffff:127.0.0.1]:8080', '0.0.0.0:8080'],
        ...['[0:0:0:0:0:FFFF:7F00:1]:8080', '[::]:8080', 'a.b.localhost:8080', '[::1]:8080'],
        ...['a.localhost.:8080', '[::ffff:10.0.0.5]:8082', 'localhost:8081', '0.0.0.0:8081'],
        ...['10.0.0.5:8082', '[::1]:8083', 'localhost:8083', '[2001:db8::1]:8084'],
        ...['localhost:8085', '127.0.0.1:8085', '127.0.0.1:9999', 'localhost:8090', 'api.example'],
      ].map((host) => `http://${host}`),
      [
        ...['localhost:3000', 'api.example:8090', '10.0.0.5', '10.0.0.6:8082', 'localhost'],
        'alocalhost:8080',
      ].map((host) => `http://${host}`),
    ],
    ['http://localhost:9999', ['https://10.0.0.5:8082/', 'https://api.example/'], []],
  ];
  for (const [shortUrlHost, own, others] of cases) {
    it(`with ${shortUrlHost} include ${own.join(' ')}, and no others`, () => {
      const isOwn = ownHosts(
        [shortUrlHost, 'http://127.0.0.1:8090', 'http://api.example'],
        listeners,
      );
      expect([...own, ...others].filter((url) => isOwn(new URL(url)))).to.deep.equal(own);
    });
  }
});
