import { WebhookVerificationError } from './errors.js';
import type { CloudEvent } from './event-stream.js';

/** `Headers`, or an object with names in any case, such as `IncomingHttpHeaders` of Node. */
export type WebhookHeaders = { get(name: string): string | null } | HeaderObject;
type HeaderObject = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Seconds, before and after. */
const tolerance = 300;

const check: (isValid: boolean, message: string) => asserts isValid = (isValid, message) => {
  if (!isValid) throw new WebhookVerificationError(message);
};

const headerOf = (headers: WebhookHeaders, name: string): string => {
  const value =
    'get' in headers && typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers as HeaderObject).find(([key]) => key.toLowerCase() === name)?.[1];
  const text = [value ?? ''].flat().join(' ');
  check(text !== '', `${name} is missing`);
  return text;
};

const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
};

const importSecret = (secret: string) => {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ''));
  check(bytes !== null && bytes.length > 0, 'The secret is not whsec_ and Base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
};

const isEvent = (value: unknown): value is CloudEvent =>
  ['id', 'source', 'type', 'subject', 'time'].every(
    (name) => typeof (value as Record<string, unknown> | null)?.[name] === 'string',
  );

const parseEvents = (body: Uint8Array): CloudEvent[] => {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    check(false, 'The body is no JSON');
  }
  const events = [parsed].flat();
  check(events.every(isEvent), 'The body has no CloudEvents');
  return events;
};

/**
 * The events of a delivery, after its signature is verified (Standard Webhooks 1.0). A delivery may arrive twice, with the
 * same `webhook-id`.
 *
 * @param rawBody the body as it was received, before JSON is parsed
 * @param secretOrSecrets `whsec_…`; during the overlap of a rotation, the old one and the new one
 * @throws WebhookVerificationError
 */
export const verifyWebhook = async (
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secretOrSecrets: string | readonly string[],
): Promise<CloudEvent[]> => {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const age = /^\d{1,12}$/.test(timestamp) ? Date.now() / 1_000 - Number(timestamp) : Infinity;
  check(Math.abs(age) <= tolerance, `webhook-timestamp is not within ${tolerance} s of now`);
  const encoder = new TextEncoder();
  const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody;
  const signed = Uint8Array.from([...encoder.encode(`${id}.${timestamp}.`), ...body]);
  const signatures = headerOf(headers, 'webhook-signature').matchAll(/(?<=^| )v1,([^ ,]+)/g);
  const decoded = [...signatures].map(([, signature = '']) => decodeBase64(signature));
  for (const key of await Promise.all([secretOrSecrets].flat().map(importSecret))) {
    for (const signature of decoded) {
      // `verify` compares in constant time.
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) {
        return parseEvents(body);
      }
    }
  }
  throw new WebhookVerificationError('webhook-signature has no signature of this secret');
};
