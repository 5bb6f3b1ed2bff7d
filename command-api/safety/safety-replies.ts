import { messages } from '../../schemas/http/errors.js';
import type { SafetyVerdict } from './safety-check.js';
import { failure, unavailable, type Reply } from '../http/reply.js';

/** `Retry-After` while the web safety service is unavailable (s). */
const safetyRetryAfter = 5;

/** The responses to verdicts; `null` for a safe destination. */
export const safetyResponses: Readonly<Record<SafetyVerdict, Reply | null>> = {
  safe: null,
  unsafe: failure(400, messages.urlUnsafe),
  unknown: unavailable(messages.safetyUnavailable, safetyRetryAfter),
};
