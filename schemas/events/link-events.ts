import { z } from 'zod';
import { timestamp } from './envelope.js';
import { defineEvents } from './event-type.js';

/** Every event of the topic of links. Subject: the short code. */
export const linkEvents = defineEvents('links', {
  /** Time: the moment of creation. */
  LinkCreated: {
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
  },
  /** A link expires once, whatever expires it. */
  LinkExpired: { version: 1, data: z.strictObject({ reason: z.enum(['time', 'clicks']) }) },
  /** By an operator or by the web-safety check. */
  LinkBlocked: { version: 1, data: z.strictObject({ reason: z.string() }) },
  LinkUnblocked: { version: 1, data: z.strictObject({ reason: z.string() }) },
});

/** Subject: the short code. */
export const visitEvents = defineEvents('visits', {
  /**
   * A visitor was answered with a redirect. What a library judges of a visitor is judged before the
   * event is written and is part of it, so that a fold years later gives the same rows.
   */
  LinkVisited: {
    version: 1,
    data: z.strictObject({
      /** Its number among the clicks of a link with a limit; `null` for a link without one. */
      click: z.int().min(1).nullable(),
      /** A crawler or a link previewer, by its own account: counted apart. */
      bot: z.boolean(),
    }),
  },
});
