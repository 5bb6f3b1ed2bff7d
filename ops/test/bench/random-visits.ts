import { randomBytes } from 'node:crypto';
import type { NewVisit } from '../../../schemas/events/spooled-visit.js';

/** Skewed to the front: the first of ten items gets almost half of the draws. */
const oneOf = <Item>(items: readonly Item[]): Item =>
  items[Math.floor(items.length * Math.random() ** 3)] as Item;

const codes = Array.from({ length: 100_000 }, () => randomBytes(6).toString('base64url'));
const agents = [
  { browser: 'Chrome', os: 'Android', device: 'mobile' },
  { browser: 'Safari', os: 'iOS', device: 'mobile' },
  { browser: 'Chrome', os: 'Windows', device: 'desktop' },
  { browser: 'Microsoft Edge', os: 'Windows', device: 'desktop' },
  { browser: 'Safari', os: 'macOS', device: 'desktop' },
  { browser: 'Firefox', os: 'Windows', device: 'desktop' },
  { browser: 'Samsung Internet for Android', os: 'Android', device: 'mobile' },
  { browser: 'Chrome', os: 'macOS', device: 'desktop' },
  { browser: 'Firefox', os: 'Linux', device: 'desktop' },
  { browser: 'Safari', os: 'iOS', device: 'tablet' },
] as const;
const origins = [
  { country: 'DE', language: 'de' },
  { country: 'US', language: 'en' },
  { country: 'AT', language: 'de' },
  { country: 'GB', language: 'en' },
  { country: 'CH', language: 'fr' },
  { country: 'FR', language: 'fr' },
  { country: 'NL', language: 'nl' },
  { country: 'PL', language: 'pl' },
];
const referrers = Array.from({ length: 100 }, (_, index) => `site-${index}.example.com`);

/** The fields of a visit by this visitor, with a realistic skew, in the order in which edges write them. */
export const randomFields = (visitor: string): NewVisit['data'] => {
  const { country, language } = oneOf(origins);
  const referrer = Math.random() < 0.5 ? null : oneOf(referrers);
  const start = { bot: false, country, referrer, ...oneOf(agents), language };
  return {
    ...start,
    visitor,
    trigger: 'link',
    version: 1,
    target: null,
    code: null,
    campaign: null,
  };
};

/** A visit of now. Links are drawn uniformly, the other fields with a skew. */
export const randomVisit = (): NewVisit => ({
  subject: codes[Math.floor(codes.length * Math.random())] ?? '',
  account: 'default',
  at: Date.now(),
  requestId: undefined,
  data: randomFields(randomBytes(12).toString('base64url')),
});
