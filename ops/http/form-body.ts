import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { messages } from '../../schemas/http/errors.js';

/** A percent-encoded password of 100 characters has at most 1.2 KB. */
const maxBodyBytes = 4_096;

export const formRefusals = {
  wrongContentType: { statusCode: 415, message: messages.formContentType },
  tooLarge: { statusCode: 413, message: messages.bodyTooLarge },
  invalidUtf8: { statusCode: 400, message: messages.formEncoding },
} as const;

const contentType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const otherCharset = /;\s*charset\s*=(?!\s*"?utf-?8"?\s*(?:;|$))/i;

/** Whether the bytes of a form are UTF-8, percent-encoded or not. `form` is Latin-1, one character for each byte. */
const isUtf8Form = (form: string): boolean => {
  const decoded = form.replace(/%([\da-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return isUtf8(Buffer.from(decoded, 'latin1'));
};

const percentEncode = (byte: string): string => `%${byte.charCodeAt(0).toString(16)}`;

/** Reads a form of at most `maxBytes`; the rest stays unread. @throws if the client aborts the request */
export const readForm = async (
  request: IncomingMessage,
  maxBytes = maxBodyBytes,
): Promise<URLSearchParams | 'wrongContentType' | 'tooLarge' | 'invalidUtf8'> => {
  const type = request.headers['content-type'] ?? '';
  if (!contentType.test(type) || otherCharset.test(type)) return 'wrongContentType';
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return 'tooLarge';
  const chunks: Buffer[] = [];
  let bytes = 0;
  // No response could be sent on a destroyed request.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).byteLength;
    if (bytes > maxBytes) return 'tooLarge';
  }
  const form = Buffer.concat(chunks).toString('latin1');
  if (!isUtf8Form(form)) return 'invalidUtf8';
  // URLSearchParams decodes percent-encoded bytes as UTF-8.
  return new URLSearchParams(form.replace(/[\x80-\xff]/g, percentEncode));
};
