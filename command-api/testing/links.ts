import { noOptions } from '../../schemas/link-options.js';
import { customAlphabet } from 'nanoid';
import type { CommandRequest } from '../../schemas/decision.js';
import type { CreateLink, NewLink } from '../links/create/command.js';
import type { ShortenCommand } from '../links/create/handler.js';
import type { TestKey } from './keys.js';

/** 10 characters. */
export const randomCode = customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 10);

/** The values of a test's link. The code is random by default. */
export type LinkValues = Partial<NewLink> & { readonly code?: string };

/** The command to create a link, by default without options. */
export const linkToCreate = (
  key: Pick<TestKey, 'id' | 'account'>,
  { code = randomCode(), ...changes }: LinkValues = {},
): CommandRequest<CreateLink> => ({
  type: 'CreateLink',
  subject: code,
  data: {
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
    options: noOptions,
    keyId: key.id,
    account: key.account,
    ...changes,
  },
  metadata: { actor: key.id, requestId: 'request-1' },
});

export const shortenCommand = (key: TestKey, links: readonly LinkValues[]): ShortenCommand => ({
  keyHash: key.hash,
  linkLimit: null,
  idempotency: null,
  links: links.map((values) => linkToCreate(key, values)),
});
