import type { Respond } from './raw-listener.js';

export const ok = 'HTTP/1.1 200 OK\r\n';

export const noContent = 'HTTP/1.1 204 No Content\r\n\r\n';

export const timedOut = (timeoutMs: number): string => `no response within ${timeoutMs / 1_000} s`;

/** Responses of receivers, and the expected status or error. `null`: the request times out. */
export const hostileResponses: Readonly<
  Record<string, readonly [respond: Respond, expected: number | string | null]>
> = {
  'a complete response': [(socket) => socket.end(`${ok}Content-Length: 2\r\n\r\nok`), 200],
  'a status of an error': [(socket) => socket.end('HTTP/1.1 503 Busy\r\n\r\n'), 503],
  'an interim response': [(socket) => socket.end(`HTTP/1.1 103 Early\r\n\r\n${noContent}`), 204],
  'a body that is cut off': [(socket) => socket.end(`${ok}Content-Length: 9\r\n\r\nok`), 200],
  'a body that stalls': [(socket) => socket.write(`${ok}Content-Length: 9\r\n\r\nok`), 200],
  'a body with an invalid chunk': [
    (socket) => socket.end(`${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`),
    200,
  ],
  'a body that is not compressed as it says': [
    (socket) => socket.end(`${ok}Content-Encoding: gzip\r\n\r\nplain`),
    200,
  ],
  'a slow body without an end': [
    (socket) => {
      socket.write(`${ok}\r\n`);
      const timer = setInterval(() => socket.write('.'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
    },
    200,
  ],
  'a fast body without an end': [
    (socket) => {
      const block = Buffer.alloc(16_384);
      const send = (): void => {
        while (socket.write(block));
      };
      socket.on('drain', send).write(`${ok}\r\n`);
      send();
    },
    200,
  ],
  'no bytes': [() => undefined, null],
  'headers without an end': [(socket) => socket.write(ok), null],
  'interim responses without an end': [
    (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
    },
    null,
  ],
  'another protocol by an upgrade': [
    (socket) => socket.write('HTTP/1.1 101 Upgrade\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\nb'),
    null,
  ],
  'headers of 100 KB': [
    (socket) => socket.write(`${ok}A: ${'a'.repeat(100_000)}`),
    'the headers of the response are too large',
  ],
  'a greeting of SSH': [(socket) => socket.end('SSH-2.0-a\r\n'), 'the response is not HTTP'],
  'bytes of another protocol': [(socket) => socket.end('\0\x01\xff'), 'the response is not HTTP'],
  'two lengths': [
    (socket) => socket.end(`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
    'the response is not HTTP',
  ],
  'a close': [(socket) => socket.end(), 'the connection was closed before a response'],
  'a reset': [(socket) => socket.resetAndDestroy(), 'the connection was closed before a response'],
};
