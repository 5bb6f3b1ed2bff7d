import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The baseline of `redirects.ts`: node:http with redirects from a Map and the headers of the edge.
 * `node dist/ops/test/bench/bare-redirects.js CODES_FILE`
 */
const codes = readFileSync(process.argv[2] ?? '', 'utf8').split('\n');
const locations = new Map(codes.map((code, index) => [code, `https://example.com/${index}`]));

const server = createServer((request, response) => {
  const location = locations.get(request.url?.slice(1) ?? '');
  if (location === undefined) {
    response.writeHead(404, { 'Content-Length': 0 });
  } else {
    response.writeHead(302, {
      Location: location,
      'Cache-Control': 'private, no-store',
      'Referrer-Policy': 'no-referrer-when-downgrade',
      'X-Content-Type-Options': 'nosniff',
      'Content-Length': 0,
    });
  }
  response.end();
});
server.listen(0, '127.0.0.1', () => {
  const edge = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`${JSON.stringify({ event: 'ready', edge })}\n`);
});
