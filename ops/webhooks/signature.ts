/** Signatures of Standard Webhooks 1.0: https://www.standardwebhooks.com */
import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

/** A new secret of a webhook; 256 bits. */
export const newSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`;

interface SignedMessage {
  /** The same in all attempts of a delivery. */
  readonly id: string;
  /** The time of the attempt. */
  readonly timestamp: Date;
  /** The body exactly as sent. */
  readonly body: string;
  /** Secrets of `newSecret`, at least one. Each of them signs. */
  readonly secrets: readonly string[];
}

export const signatureHeaders = ({ id, timestamp, body, secrets }: SignedMessage) => {
  const seconds = Math.floor(timestamp.getTime() / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    const hmac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
};
