import { webDestinations } from '../../../../schemas/http/link-fields.js';
import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { adminRoutes } from '../../../../command-api/http/admin.js';
import type { AdminDeps } from '../../../../command-api/http/operator-requests.js';
import { openApiDocument } from '../../../../command-api/http/openapi/document.js';
import { codePoint } from '../../../../schemas/testing/code-point.js';

/** Texts that are separated by ` | ` and line breaks. */
const list = (text: string): string[] => text.trim().split(/ \| |\n\s*/);

/** Data of the installation that the requests use. */
interface KnownData {
  readonly keys: readonly string[];
  readonly revokedKey: string;
  readonly adminToken: string;
  readonly codes: readonly string[];
  /** Cookie headers of console sessions on both listeners. */
  readonly cookies: readonly string[];
}

export interface HostileRequest {
  readonly listener: 'api' | 'edge' | 'admin';
  readonly method: string;
  readonly target: string;
  /** Header lines as Latin-1: one character per byte. */
  readonly lines: readonly string[];
  readonly body: Buffer;
  /** How the end of the body is marked. */
  readonly framing: 'none' | 'length' | 'chunked';
}

/** The bytes of a text in UTF-8, each as a Latin-1 character. */
const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

const chunked = (body: Buffer): Buffer => {
  const half = body.length >> 1;
  const pieces = [body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0);
  return Buffer.concat([
    ...pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
};

/** Header lines and body, by the framing. ops/http/server.int.spec.ts has broken ones. */
const framings = {
  none: () => [[], Buffer.alloc(0)],
  length: (body) => [[`Content-Length: ${body.length}`], body],
  chunked: (body) => [['Transfer-Encoding: chunked'], chunked(body)],
} satisfies Readonly<
  Record<HostileRequest['framing'], (body: Buffer) => readonly [string[], Buffer]>
>;

/** The admin listener responds with 421 to other hosts. */
const hostOf = (listener: HostileRequest['listener']): string =>
  listener === 'admin' ? 'localhost' : 'sho.rt';

/** The Origin of a page of the listener's console. */
export const originOf = (listener: HostileRequest['listener']): string =>
  `http://${hostOf(listener)}`;

export const bytesOf = (request: HostileRequest): Buffer => {
  const { method, target, lines, body, framing } = request;
  const [frameLines, bytes] = framings[framing](body);
  const host = `Host: ${hostOf(request.listener)}`;
  const head = [`${method} ${target} HTTP/1.1`, host, ...lines, ...frameLines].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), bytes]);
};

/** The request in the report of a failure, complete enough to repeat it. */
export const describeRequest = (request: HostileRequest): string => {
  const bytes = bytesOf(request);
  const shown = bytes
    .subarray(0, 1_500)
    .toString('latin1')
    .replace(/(.{1,12}?)\1{20,}/g, '$1…$1');
  return `${request.listener}, ${request.framing}, ${bytes.length} bytes: ${JSON.stringify(shown)}`;
};

const deep = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + '1' + close.repeat(levels);

const link = (fields: object): string => JSON.stringify({ url: 'https://example.com/', ...fields });

const texts = [
  ...list(`
    {} | [] | null | 1e400 | "text" | { | {"url":
    {"url":"https://example.com/","__proto__":{"polluted":1}}
    {"url":"https://example.com/","a":{"b":[{"__proto__":{"polluted":1}}]}}
    {"url":"https://example.com/","prototype":null}
    password=wrong | password=%zz% | password=a&password=b
  `),
  '',
  link({}),
  link({ password: 'pässwörd' }),
  '{"url":"https://example.com/\\ud800"}',
  '{"url":"https://example.com/\\r\\nX-Injected: 1"}',
  '{"url":"https://example.com/","alias":"\\ud800\\ud800\\ud800"}',
  '{"url":"https://example.com/","password":"\\ud800\\u0000aaa"}',
  `{"key":"ll_${'0'.repeat(38)}"}`,
  deep(10_000, '[', ']'),
  deep(10_000, '{"a":', '}'),
  ' '.repeat(70_000),
  `password=${'%F0%9F%98%80'.repeat(100)}`,
  '--b\r\nContent-Disposition: form-data; name="url"\r\n\r\nhttps://example.com/\r\n--b--\r\n',
];

const bodies: readonly Buffer[] = [
  ...texts.map((text) => Buffer.from(text, 'utf8')),
  Buffer.from(link({}), 'utf16le'),
  Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(link({}), 'utf16le')]),
  Buffer.from([0x7b, 0x22, 0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.alloc(64, 0),
  gzipSync(link({})),
  gzipSync(Buffer.alloc(4_000_000, 0x20)),
  gzipSync(link({})).subarray(0, 20),
];

const contentTypes = [
  ...list(`
    application/json | application/json; charset=utf-8 | application/json;charset=utf-16
    application/json; charset=iso-2022-kr | application/json; charset="
    application/json; charset=__proto__ | APPLICATION/JSON ; a=b
    application/json, text/plain | application/jsonx | application/x-www-form-urlencoded
    multipart/form-data; boundary=b | multipart/form-data | text/html | text/json | */* | /
    ;
  `),
  '',
];

/** Unusual header lines of a valid request. */
const oddities = [
  ...contentTypes.map((type) => `Content-Type: ${type}`),
  `X-Forwarded-For: ${'1.2.3.4, '.repeat(1_000)}5.6.7.8`,
  'Idempotency-Key: ',
  `Idempotency-Key: ${'i'.repeat(256)}`,
  `Idempotency-Key: ${utf8('schlüssel-😀')}`,
  'Idempotency-Key: \x80\xff',
  `X-Request-Id: ${'r'.repeat(129)}`,
  `X-Request-Id: ${utf8('é')}`,
  'X-Actor: \xff',
  `X-Actor: ${'a'.repeat(65)}`,
  'User-Agent: ',
  `User-Agent: ${'Mozilla/5.0 ('.repeat(800)}`,
  'User-Agent: ${jndi:ldap://127.0.0.1:1/a}',
  `Cookie: ${'a=b; '.repeat(2_000)}`,
  `If-None-Match: ${'"x",'.repeat(2_000)}`,
  `Cookie: linklog_console=${'x'.repeat(43)}`,
  `X-Long: ${'x'.repeat(9_000)}`,
  `Authorization: Bearer ${'x'.repeat(8_000)}`,
  `Authorization: ${' '.repeat(8_000)}`,
  'Authorization: Bearer \xff\xfe',
  ...list(`
    Accept: text/html | Accept: */* | Accept: text/html;q=0, ../../etc/passwd
    Accept-Encoding: gzip, br, zstd | Content-Encoding: gzip | Content-Encoding: br
    Content-Encoding: deflate | Content-Encoding: gzip, gzip, gzip
    Content-Encoding: none-such | Host: evil.example
    Forwarded: for="[::1]";host=evil.example;proto=https | X-Forwarded-Host: evil.example
    X-Forwarded-Proto: https | X-Forwarded-For: ::ffff:1.2.3.4%eth0, [::1]:99999, unknown, ,
    X-HTTP-Method-Override: DELETE | X-Original-URL: /admin/keys
    X-Rewrite-URL: /admin/keys | Idempotency-Key: same | X-Request-Id: a b
    X-Request-Id: ../../../etc/passwd | User-Agent: Googlebot/2.1
    User-Agent: () { :; }; echo | If-None-Match: *
    Cookie: linklog_console=; linklog_operator=__proto__; linklog_console=%00 | Origin: null
    Origin: https://evil.example | Range: bytes=0-,1-,2-,3- | Upgrade: websocket
    Connection: Upgrade | Connection: close
    Connection: keep-alive, close, Host, Authorization | Expect: 100-continue
    Expect: the worst | TE: trailers | Trailer: Authorization | Purpose: prefetch | DNT: 1
    __proto__: x | constructor: x | Authorization: Basic OjpAOg== | Authorization: Bearer
  `),
];

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'];
const brokenMethods = ['get', 'GETT', 'CONNECT', 'PRI', '', '\x00', 'M'.repeat(5_000), utf8('GÉT')];

const tricks = [
  ...list(`
    %2e%2e | %2e%2e%2f%2e%2e%2fetc%2fpasswd | .. | . | ... | %00 | %2F | %5c | %c0%ae%c0%ae
    %ed%a0%80 | %ff%fe | % | %z | %zz | %E0%A4%A | %252e%252e | %u002e | %2B | + | ;jsessionid=1
    : | * | @evil.example | __proto__ | constructor | hasOwnProperty | toString | null
    <script>alert(1)</script> | {{7*7}} | # | #a?b
  `),
  '\\',
  utf8('größe'),
  utf8('😀'),
  utf8('\u2028'),
  '\xa0',
  '\xff',
  "'%20OR%201=1--",
  '${7*7}',
  'a'.repeat(51),
  'a'.repeat(12_000),
];

const adminPaths = new Set(
  // Handlers use their dependencies only when they are called.
  adminRoutes({ destinations: webDestinations } as AdminDeps).map(
    ({ path }) => `admin${path.replace(/:(\w+)/g, '{$1}')}`,
  ),
);

const apiPaths = Object.keys(openApiDocument().paths).map((path) => path.slice(1));

const consolePaths = [
  ...list(`
    console | console/session | console/session/changes | console/session/all
    console/session/all/{id} | console/{page} | console/assets/{file}
  `),
  ...apiPaths.filter((path) => path.startsWith('v2/')).map((path) => `console/${path}`),
  ...[...adminPaths].map((path) => `console/${path}`),
];

/** Paths of all listeners without the first slash; braces mark a random segment. */
const routes = [
  ...list(`
    openapi.json | asyncapi.json | docs | docs/events | metrics | robots.txt | favicon.ico
    {shortCode} | {shortCode}+
  `),
  ...apiPaths,
  ...adminPaths,
  ...consolePaths,
  '',
];

/** Paths that resemble routes. */
const nearRoutes = ['v2', 'v2/', 'v2/shorten/', 'V2/shorten', 'admin/', '{id}/{id}'];

const repeated = (pair: string, times: number): string => Array(times).fill(pair).join('&');

const queries = [
  ...list(`
    ? | ?? | ?= | ?&&&& | ?__proto__[polluted]=1
    ?__proto__.polluted=1&constructor[prototype][polluted]=1 | ?size=300&size=400 | ?size[]=300
    ?size[$gt]=1 | ?size=0x200&margin=-1&ecc=Z | ?size=1e3
    ?format=svg&dark=%23fff%22%2F%3E%3Cscript%3E | ?format=png&format=svg | ?format=svg
    ?dark=%00&light=%ff | ?limit=1&after=%00 | ?limit=-1
    ?limit=1000&after=99999999999999999999 | ?after=00000000-0000-0000-0000-000000000000
    ?after=%27 | ?%zz=%zz&%=% | ?%E0%A4%A | ?url=//evil.example | ?a#b
  `),
  '',
  `?size=${'9'.repeat(4_000)}`,
  '?a=' + 'b'.repeat(8_192),
  '?' + repeated('a[]=b', 1_500),
  '?' + repeated('size=300', 900),
  '?' + '['.repeat(4_000),
];

/** Valid and invalid requests at every level. */
export const hostileRequest = (known: KnownData): fc.Arbitrary<HostileRequest> => {
  const pick = (values: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...values);

  const segment = fc.oneof(
    { weight: 4, arbitrary: pick(known.codes) },
    { weight: 4, arbitrary: pick(tricks) },
    { weight: 1, arbitrary: fc.string({ unit: codePoint, maxLength: 20 }).map(encodeURI_) },
  );
  const path = fc
    .tuple(
      fc.oneof(
        { weight: 12, arbitrary: pick(routes) },
        { weight: 6, arbitrary: fc.constant('{shortCode}') },
        { weight: 3, arbitrary: pick(nearRoutes) },
      ),
      segment,
      segment,
    )
    .map(([route, ...segments]) => route.replace(/\{\w+\}/g, () => segments.pop() ?? ''));
  const prefix = fc.oneof(
    { weight: 20, arbitrary: fc.constant('/') },
    {
      weight: 3,
      arbitrary: pick([
        ...list(`
          // | /// | /./ | /../ | /%2F | /v2/../ | http://sho.rt/ | http://evil.example/ | http://
          HTTPS://user:pass@evil.example:99999/ | http://[::/ | http:/// | http://a b/
          ftp://evil.example/ | x:// | javascript://
        `),
        '/\\',
      ]),
    },
  );
  const target = fc.oneof(
    {
      weight: 30,
      arbitrary: fc
        .tuple(prefix, path, fc.oneof({ weight: 2, arbitrary: fc.constant('') }, pick(queries)))
        .map((parts) => parts.join('')),
    },
    { weight: 1, arbitrary: pick(['*', 'sho.rt:80', '?', '', 'v2/usage', '/ /', '/\t', '/\x00']) },
  );

  const bearer = (token: string): string => `Authorization: Bearer ${token}`;
  const authorization = fc.oneof(
    { weight: 8, arbitrary: pick(known.keys) },
    { weight: 3, arbitrary: fc.constant(known.adminToken) },
    {
      weight: 2,
      arbitrary: pick([known.revokedKey, `ll_${'a'.repeat(38)}`, 'll_', 'x'.repeat(5_000)]),
    },
    { weight: 1, arbitrary: fc.constant(null) },
  );
  const oddLines = fc.array(
    fc.oneof(pick(oddities), fc.constant('Content-Type: application/json')),
    {
      maxLength: 4,
    },
  );
  /** A page of the console sends a cookie and an Origin. */
  const sessionCookie = fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: pick(known.cookies) },
  );
  const framing = fc.constantFrom('none', 'length', 'length', 'chunked');

  return (
    fc
      .record({
        listener: fc.constantFrom('api', 'api', 'api', 'edge', 'edge', 'admin'),
        method: fc.oneof(
          { weight: 8, arbitrary: pick(['GET', 'POST']) },
          { weight: 4, arbitrary: pick(methods) },
          { weight: 1, arbitrary: pick(brokenMethods) },
        ),
        target,
        authorization,
        sessionCookie,
        oddLines,
        body: fc.constantFrom(...bodies),
        framing,
      })
      // Other requests need the sessions.
      .filter(
        ({ method, target: at }) => method !== 'DELETE' || !at.endsWith('console/session/all'),
      )
      .map(
        ({
          authorization: given,
          sessionCookie: cookie,
          oddLines: odd,
          ...request
        }): HostileRequest => {
          // After ten wrong tokens, the admin listener would respond with 429 only.
          const isGuess = request.listener === 'admin' && given !== null;
          const token = isGuess ? known.adminToken : given;
          const page = cookie === null ? [] : [cookie, `Origin: ${originOf(request.listener)}`];
          return {
            ...request,
            // The first Authorization is used.
            lines: [...(token === null ? [] : [bearer(token)]), ...page, ...odd],
          };
        },
      )
  );
};

/** Percent-encodes like a client; lone surrogates are replaced. */
const encodeURI_ = (text: string): string => encodeURIComponent(text.toWellFormed());
