import { messages } from '../../schemas/http/errors.js';
import type { SafetyVerdict } from './safety-check.js';
import { failure, unavailable, type Reply } from '../http/reply.js';

/** `Retry-After` while the web safety service is away, in seconds. */
const safetyRetryAfter = 5;

/** What is said of a destination that was checked; `null` of a safe one. */
export const safetyReplies: Readonly<Record<SafetyVerdict, Reply | null>> = {
  safe: null,
  unsafe: failure(400, messages.urlUnsafe),
  unknown: unavailable(messages.safetyUnavailable, safetyRetryAfter),
};
