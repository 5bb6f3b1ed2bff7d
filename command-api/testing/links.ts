import { customAlphabet } from 'nanoid';
import type { CreateLink } from '../links/create/command.js';
import type { ShortenCommand } from '../links/create/handler.js';
import type { TestKey } from './keys.js';

/** 10 characters. */
export const randomCode = customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 10);

/** A link of a key, with a random code and without options. */
export const linkToCreate = (key: TestKey, changes: Partial<CreateLink> = {}): CreateLink => ({
  code: randomCode(),
  custom: false,
  url: 'https://example.com/',
  expiresIn: null,
  expiresAt: null,
  startsAt: null,
  reuse: false,
  maxClicks: null,
  passwordHash: null,
  title: null,
  note: null,
  tags: null,
  keyId: key.id,
  actor: key.id,
  account: key.account,
  requestId: 'request-1',
  ...changes,
});

/** The command that creates links of a key. */
export const shortenCommand = (
  key: TestKey,
  links: readonly Partial<CreateLink>[],
): ShortenCommand => ({
  keyId: key.id,
  linkLimit: null,
  idempotency: null,
  links: links.map((changes) => linkToCreate(key, changes)),
});
