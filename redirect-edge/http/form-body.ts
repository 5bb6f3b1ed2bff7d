import type { IncomingMessage } from 'node:http';

const contentType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

/** Reads a form of at most `maxBytes`; the rest stays unread. @throws when the client breaks off. */
export const readForm = async (
  request: IncomingMessage,
  maxBytes: number,
): Promise<URLSearchParams | 'wrongContentType' | 'tooLarge'> => {
  if (!contentType.test(request.headers['content-type'] ?? '')) return 'wrongContentType';
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return 'tooLarge';
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A destroyed request could not be answered any more.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).byteLength;
    if (bytes > maxBytes) return 'tooLarge';
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
};
