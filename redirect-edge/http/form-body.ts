import type { IncomingMessage } from 'node:http';

const contentType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

export type FormBody =
  | { readonly type: 'fields'; readonly fields: URLSearchParams }
  | { readonly type: 'wrongContentType' }
  | { readonly type: 'tooLarge' };

/** Reads a form of at most `maxBytes`; what is more is left unread. @throws when the client goes. */
export const readForm = async (request: IncomingMessage, maxBytes: number): Promise<FormBody> => {
  if (!contentType.test(request.headers['content-type'] ?? '')) return { type: 'wrongContentType' };
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return { type: 'tooLarge' };
  // Broken off while the link was looked up: it would tell nobody again.
  if (request.errored) throw request.errored;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.byteLength;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        request.off('data', onData).pause();
        resolve({ type: 'tooLarge' });
      }
    };
    request.on('data', onData);
    request.once('error', reject);
    request.once('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      resolve({ type: 'fields', fields: new URLSearchParams(text) });
    });
  });
};
