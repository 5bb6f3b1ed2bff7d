import { expect } from 'chai';
import fc from 'fast-check';
import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { rejection } from '../../../test/support/waiting.js';
import { verifyWebhook, WebhookVerificationError } from './index.js';

const secretOf = (bytes: Uint8Array): string => `whsec_${Buffer.from(bytes).toString('base64')}`;
const secret = secretOf(randomBytes(24));
const otherSecret = secretOf(randomBytes(24));

const event = {
  ...{
    specversion: '1.0',
    id: '019a3c1e',
    type: 'linklog.LinkCreated.v4',
    source: '/linklog/ledger',
  },
  ...{ subject: 'spring-sale', time: '2026-05-01T12:00:00.000Z', data: {} },
};
const body = JSON.stringify(event);
const now = (): number => Math.floor(Date.now() / 1_000);

const signatureOf = (
  id: string,
  timestamp: number | string,
  text: string,
  key = secret,
): string => {
  const bytes = Buffer.from(key.replace('whsec_', ''), 'base64');
  const signed = createHmac('sha256', bytes).update(`${id}.${timestamp}.`).update(text);
  return `v1,${signed.digest('base64')}`;
};

const headersOf = (text = body, { id = 'msg_1', timestamp = now(), keys = [secret] } = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': keys.map((key) => signatureOf(id, timestamp, text, key)).join(' '),
});

const refusal = async (...args: Parameters<typeof verifyWebhook>): Promise<string> => {
  const error = await rejection(verifyWebhook(...args));
  expect(error).to.be.instanceOf(WebhookVerificationError);
  return (error as Error).message;
};

describe('client: verifyWebhook', () => {
  it('returns the event of a delivery, or the events of a batch', async () => {
    expect(await verifyWebhook(body, headersOf(), secret)).to.deep.equal([event]);
    const batch = JSON.stringify([event, event]);
    expect(await verifyWebhook(batch, headersOf(batch), secret)).to.deep.equal([event, event]);
    expect(await verifyWebhook('[]', headersOf('[]'), secret)).to.deep.equal([]);
  });

  it('accepts bytes, Headers, names in any case, and lists of values', async () => {
    const headers = headersOf();
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    for (const [raw, given] of [
      [Buffer.from(body), headers],
      [new TextEncoder().encode(body), new Headers(headers)],
      [body, upper],
      [body, { ...upper, 'X-Other': undefined }],
    ] as const) {
      expect(await verifyWebhook(raw, given, secret)).to.deep.equal([event]);
    }
  });

  it('accepts one of several secrets and signatures', async () => {
    const headers = headersOf(body, { keys: [otherSecret, secret] });
    expect(await verifyWebhook(body, headers, secret)).to.deep.equal([event]);
    expect(await verifyWebhook(body, headersOf(), [otherSecret, secret])).to.deep.equal([event]);
    const joined = new Headers(headers);
    joined.append('webhook-signature', 'v2,other');
    expect(await verifyWebhook(body, joined, [secret])).to.deep.equal([event]);
    const message = await refusal(body, headersOf(), [otherSecret]);
    expect(message).to.equal('webhook-signature has no signature of this secret');
  });

  it('accepts what the reference library signs, and signs as it verifies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 24, maxLength: 64 }),
        fc.string({ minLength: 1 }).filter((id) => /^[\x21-\x2d\x2f-\x7e]+$/.test(id)),
        fc.string({ unit: 'grapheme' }),
        async (bytes, id, title) => {
          const key = secretOf(bytes);
          const text = JSON.stringify({ ...event, data: { title } });
          const timestamp = new Date();
          const signature = new Webhook(key).sign(id, timestamp, text);
          const seconds = Math.floor(timestamp.getTime() / 1_000);
          expect(signature).to.equal(signatureOf(id, seconds, text, key));
          const headers = {
            ...headersOf(text, { id, timestamp: seconds }),
            'webhook-signature': signature,
          };
          expect(await verifyWebhook(text, headers, key)).to.deep.equal([JSON.parse(text)]);
        },
      ),
    );
  });

  it('accepts no change of a byte of body, id, timestamp or signature', async () => {
    const timestamp = now();
    const headers = headersOf(body, { timestamp });
    const parts = [
      body,
      headers['webhook-id'],
      headers['webhook-timestamp'],
      headers['webhook-signature'],
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 3 }),
        fc.nat(),
        fc.integer({ min: 0x21, max: 0x7e }),
        async (part, position, character) => {
          const changed = parts.map((text, index) => {
            const at = position % text.length;
            const replaced =
              text.slice(0, at) + String.fromCharCode(character) + text.slice(at + 1);
            return index === part ? replaced : text;
          });
          fc.pre(changed[part] !== parts[part]);
          // The unused bits of the last digit of Base64 are not part of the signature.
          const bytes = changed.map((text) => Buffer.from(text.replace('v1,', ''), 'base64'));
          fc.pre(part !== 3 || !bytes[3]?.equals(Buffer.from(parts[3]?.slice(3) ?? '', 'base64')));
          const [text = '', id, time, signature] = changed;
          await refusal(
            text,
            { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature },
            secret,
          );
        },
      ),
    );
  });

  it('throws only WebhookVerificationError, whatever it gets', async () => {
    const text = fc.string({ unit: 'binary' });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(text, fc.uint8Array()),
        fc.dictionary(
          fc.constantFrom('webhook-id', 'Webhook-Timestamp', 'webhook-signature', 'get'),
          fc.oneof(text, fc.constant(undefined), fc.array(text), fc.constant(String(now()))),
        ),
        fc.oneof(text, fc.array(text)),
        async (raw, headers, secrets) => {
          await refusal(raw, headers, secrets);
        },
      ),
    );
  });

  it('accepts signed timestamps of about the last and next 300 s', async () => {
    for (const [offset, isAccepted] of [
      [-280, true],
      [280, true],
      [-330, false],
      [330, false],
    ] as const) {
      const headers = headersOf(body, { timestamp: now() + offset });
      if (isAccepted) await verifyWebhook(body, headers, secret);
      else expect(await refusal(body, headers, secret)).to.include('within 300 s');
    }
    for (const timestamp of ['NaN', '1e9', ` ${now()}`, `${now()}.0`, '-1', 'Infinity']) {
      const headers = {
        ...headersOf(),
        ...{
          'webhook-timestamp': timestamp,
          'webhook-signature': signatureOf('msg_1', timestamp, body),
        },
      };
      expect(await refusal(body, headers, secret), timestamp).to.include('within 300 s');
    }
  });

  it('names what is missing', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const) {
      const headers = { ...headersOf(), [name]: undefined };
      expect(await refusal(body, headers, secret)).to.equal(`${name} is missing`);
    }
    expect(await refusal(body, headersOf(), '')).to.include('secret');
    expect(await refusal(body, headersOf(), 'whsec_***')).to.include('secret');
    expect(await refusal(body, headersOf(), [])).to.include('no signature');
    for (const [text, message] of [
      ['{', 'The body is no JSON'],
      ['null', 'The body has no CloudEvents'],
      ['[7]', 'The body has no CloudEvents'],
      ['{"id":"a"}', 'The body has no CloudEvents'],
    ] as const) {
      expect(await refusal(text, headersOf(text), secret)).to.equal(message);
    }
  });
});
