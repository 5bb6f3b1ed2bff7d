import { z } from 'zod';
import { responseParts } from '../components.js';
import { planName } from '../plans.js';
import { scopeName } from '../scopes.js';
import { timestamp } from '../events/envelope.js';
import { urlFaults } from './link-fields.js';

export const generalError = z.object({
  statusCode: z
    .int()
    .describe('The HTTP status; for an item, the status that its own request would get.'),
  timestamp: timestamp.describe('The time of the response, UTC.'),
  path: z.string().describe('Without the query.'),
  method: z.string().describe('The HTTP method of the request.'),
  message: z.string().describe('What is wrong, in English.'),
  errorType: z
    .enum(['BLOCKED', 'DELETED', 'DISABLED', 'EXPIRED'])
    .describe('Why the link does not redirect; on 410.')
    .optional(),
  retryAfter: z.int().min(1).describe('Seconds; on errors of the per-minute limit.').optional(),
  reason: z.enum(urlFaults).describe('Why the URL is invalid.').optional(),
  found: z.array(z.string()).describe('The values of the TXT record that was found.').optional(),
});
export type GeneralError = z.infer<typeof generalError>;

const statusName = 'The name of the status; on 401, and if a scope or a feature is missing.';
const upgradeUrl = z.url().describe('The page on which the plan can be changed.');

const unauthorizedError = z.object({
  statusCode: z.literal(401),
  message: z.string(),
  error: z.literal('Unauthorized').describe(statusName),
});
export type UnauthorizedError = z.infer<typeof unauthorizedError>;

export const planError = z.object({
  statusCode: z.literal(403),
  message: z.string(),
  error: z.literal('Forbidden').describe(statusName),
  feature: z
    .enum(['customAlias', 'passwordProtection', 'customDomain'])
    .describe('What the plan lacks.'),
  currentPlan: planName.describe('The plan of the key.'),
  upgradeUrl,
});
export type PlanError = z.infer<typeof planError>;

const scopeError = z.object({
  statusCode: z.literal(403),
  message: z.string(),
  error: z.literal('Forbidden').describe(statusName),
  scope: scopeName.describe('What the key lacks.'),
});
export type ScopeError = z.infer<typeof scopeError>;

export const monthlyLimitError = z.object({
  statusCode: z.literal(429),
  message: z.string(),
  limit: z.int().min(0).describe("The plan's quota."),
  resetDate: z.iso.date().describe('The first day of the next month, UTC.'),
  upgradeUrl,
});
export type MonthlyLimitError = z.infer<typeof monthlyLimitError>;

export const anyError = z
  .union([generalError, unauthorizedError, planError, scopeError, monthlyLimitError])
  .register(responseParts, { id: 'Error' });

/** Messages that several places use, or that the specification defines. */
export const messages = {
  keyMissing: 'API key required. Pass your key as: Authorization: Bearer <your-key>',
  keyInvalid: 'Invalid or inactive API key.',
  sessionOver: 'You are not signed in, or your session has ended. Sign in again.',
  sessionRepeated: 'The request has two session cookies. Both are cleared: sign in again.',
  rateLimited: 'Rate limit exceeded. Try again in the next minute.',
  callsExhausted: 'Monthly API call limit reached.',
  linksExhausted: 'Monthly link limit reached.',
  qrCodesExhausted: 'Monthly QR code limit reached.',
  maintenance: 'Service is temporarily unavailable for maintenance',
  unavailable: 'Service is temporarily unavailable',
  logUnavailable: 'The event log is temporarily unavailable',
  internal: 'Internal server error',
  badRequest: 'Bad Request',
  headersTooLarge: 'Request header fields are too large',
  originNotAllowed: 'Cross-origin calls from this origin are not allowed',
  misdirected: 'This listener answers to addresses, localhost and the names in ADMIN_HOSTS',
  requestTimeout: 'Request was not received in time',
  notFound: 'Not Found',
  methodNotAllowed: 'Method Not Allowed',
  bodyTooLarge: 'Request body is too large',
  contentType: 'Content-Type must be application/json',
  charset: 'The charset of Content-Type must be utf-8',
  invalidJson: 'Invalid JSON body',
  codeNotFound: 'Short URL not found',
  keyNotFound: 'API key not found',
  personNotFound: 'Person not found',
  invitationNotFound: 'Invitation not found',
  invitationOfAnother: 'The invitation is for another e-mail address',
  lastOwner: 'An account needs an owner',
  roleOfProvider: 'This role comes from the identity provider',
  noAccess: 'You have no access to this installation',
  accountDeactivated: 'The account is deactivated',
  providerUnavailable: 'The identity provider is unavailable',
  keySuspended: 'An operator switched this key off',
  keyDeactivatedAbove: 'A key above this one deactivated it',
  keyTooDeep: 'Too many keys stand above this one',
  prefetch: 'Short links are not fetched ahead',
  linkExpired: 'This link has expired',
  tooManyAttempts: 'Too many attempts. Try again later.',
  formContentType: 'Content-Type must be application/x-www-form-urlencoded',
  formEncoding: 'The form must be UTF-8',
  linkDeleted: 'This link has been deleted',
  linkDeletedLongAgo: 'This link was deleted more than 30 days ago',
  linkDisabled: 'This link is disabled',
  linkBlocked: 'This link has been blocked',
  linkChanged: 'The link was changed meanwhile',
  limitBelowClicks: 'maxClicks must be at least the clicks taken',
  aliasTaken: 'Alias is already taken',
  domainInvalid: 'Please provide a valid domain',
  domainNotFound: 'Domain not found',
  domainUnverified: 'The TXT record was not found',
  domainOfAnother: 'The domain belongs to another account',
  domainHasLinks: 'The domain has links',
  domainCaseFixed: 'The domain has another caseInsensitive, which cannot change',
  resolverUnavailable: 'The DNS resolver is unavailable',
  domainInactive: 'The domain is not active for this account',
  accountWithoutKey: 'The account has no key',
  aliasReserved: 'This alias is reserved and cannot be used',
  urlUnsafe: 'URL appears to be unsafe and cannot be shortened',
  safetyUnavailable: 'Web safety check is temporarily unavailable',
  shorteningOff: 'URL shortening is currently disabled',
  aliasesOff: 'Custom aliases are currently disabled on this platform',
  passwordsOff: 'Password protection is currently disabled on this platform',
  qrOff: 'QR code generation is currently disabled on this platform',
  expirationOff: 'URL expiration is currently disabled on this platform',
  statsOfDefaultDomain:
    'The account has domains: statistics of the default domain alone are not available',
  tooManyLinks: 'Too many links in this period',
  tooManyClickedLinks: 'Too many links: choose a smaller period or a narrower filter',
  tooManyVisits: 'Too many visits in this period to filter, at most 200000',
  tooManyRecords:
    'Too many visits of other links since the start of this period: choose a later one',
  tooManySums: 'Too many statistics of links are being summed up',
  tooManyExports: 'Too many exports are running',
  tooManyImports: 'Too many imports are running',
  importNotFound: 'Import not found',
  importEncoding: 'Content-Encoding must be gzip',
  shareNotFound: 'Share not found',
  sharePassword: 'The password of these statistics is missing or wrong',
  utmTemplateNotFound: 'UTM template not found',
  webhookNotFound: 'Webhook not found',
  webhookUrlRefused: 'The webhook URL is not allowed',
  deliveryNotFound: 'Delivery not found',
  deliveryNotStored: 'The body of this delivery is no longer stored: use replay',
  cursorForeign: 'The cursor belongs to another log',
  historyIncomplete: 'The history is being built after an upgrade',
  statsIncomplete: 'Statistics are being built after an upgrade',
  idempotencyKey: 'Idempotency-Key must be between 1 and 255 characters',
  idempotencyMismatch: 'Idempotency-Key was already used with another request body',
  idempotencyInFlight: 'A request with this Idempotency-Key is still in progress',
} as const;
