import { z } from 'zod';
import { timestamp } from './envelope.js';
import { eventType } from './event-type.js';

/** Subject: the short code. Time: the moment of creation. */
export const LinkCreated = eventType({
  name: 'LinkCreated',
  topic: 'links',
  version: 1,
  data: z.strictObject({
    /** The destination, exactly as it was sent, outer white space trimmed. */
    url: z.string(),
    /** Whether the code was asked for (an alias) or generated. */
    custom: z.boolean(),
    expiresAt: timestamp.nullable(),
    maxClicks: z.int().min(1).nullable(),
    /** argon2id. Never leaves in an export. */
    passwordHash: z.string().nullable().meta({ secret: true }),
    /** The API key that asked for it, whose quota it spent. */
    keyId: z.string(),
  }),
});

/** Subject: the short code. A link expires once, whatever expires it. */
export const LinkExpired = eventType({
  name: 'LinkExpired',
  topic: 'links',
  version: 1,
  data: z.strictObject({ reason: z.enum(['time', 'clicks']) }),
});

/** Subject: the short code. By an operator or by the web-safety check. */
export const LinkBlocked = eventType({
  name: 'LinkBlocked',
  topic: 'links',
  version: 1,
  data: z.strictObject({ reason: z.string() }),
});

/** Subject: the short code. */
export const LinkUnblocked = eventType({
  name: 'LinkUnblocked',
  topic: 'links',
  version: 1,
  data: z.strictObject({ reason: z.string() }),
});
