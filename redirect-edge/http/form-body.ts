import type { IncomingMessage } from 'node:http';

const contentType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

export type FormBody =
  | { readonly type: 'fields'; readonly fields: URLSearchParams }
  | { readonly type: 'wrongContentType' }
  | { readonly type: 'tooLarge' };

/** Reads a form of at most `maxBytes`; the rest stays unread. @throws when the client breaks off. */
export const readForm = async (request: IncomingMessage, maxBytes: number): Promise<FormBody> => {
  if (!contentType.test(request.headers['content-type'] ?? '')) return { type: 'wrongContentType' };
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return { type: 'tooLarge' };
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A destroyed request could not be answered any more.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).byteLength;
    if (bytes > maxBytes) return { type: 'tooLarge' };
  }
  return { type: 'fields', fields: new URLSearchParams(Buffer.concat(chunks).toString('utf8')) };
};
