import {
  linkState,
  noCodes,
  type Link,
  type LinkState,
  type SecuredFields,
} from '../folds/link.js';
import { noOptions, optionsIn, type LinkOptions } from '../link-options.js';
import type { ExpiryReason, RecordedStatus } from '../folds/link-status.js';

/**
 * A row of `projection_redirects.links`. Written by the projector, read by the edge. Fields that most links do not have
 * are `null`, which takes no space.
 */
export interface RedirectRow {
  readonly subject: string;
  readonly status: RecordedStatus;
  readonly expired: ExpiryReason | null;
  readonly url: string;
  readonly account: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly max_clicks: number | null;
  readonly password_hash: string | null;
  /** The sequence of the last event in the row. */
  readonly sequence: number;
  /** The restraint, also if another one determines the status; `null`: no. */
  readonly blocked: true | null;
  readonly disabled: true | null;
  readonly custom: true | null;
  readonly starts_at: Date | null;
  readonly title: string | null;
  readonly note: string | null;
  /** `null`: none. */
  readonly tags: readonly string[] | null;
  /** `null`: equal to `created_at`. */
  readonly updated_at: Date | null;
  /** `null`: equal to `created_at`. */
  readonly live_since: Date | null;
  readonly original: SecuredFields | null;
  /** `null`: none. */
  readonly options: LinkOptions | null;
  /** `null`: none. */
  readonly codes: readonly string[] | null;
}

/** The columns that all links use, with their SQL types. */
export const commonTypes = {
  subject: 'text',
  status: 'text',
  expired: 'text',
  url: 'text',
  account: 'text',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
  max_clicks: 'integer',
  password_hash: 'text',
  sequence: 'bigint',
} as const satisfies Partial<Record<keyof RedirectRow, string>>;

/** The columns of a `RedirectRow`. The table also has `folded`, which only searches read. */
export const redirectTypes = {
  ...commonTypes,
  blocked: 'boolean',
  disabled: 'boolean',
  custom: 'boolean',
  title: 'text',
  note: 'text',
  tags: 'jsonb',
  updated_at: 'timestamptz',
  live_since: 'timestamptz',
  original: 'jsonb',
  starts_at: 'timestamptz',
  options: 'jsonb',
  codes: 'jsonb',
} as const satisfies Record<keyof RedirectRow, string>;

export const redirectColumns = Object.keys(redirectTypes) as readonly (keyof RedirectRow)[];

const yes = (flag: boolean): true | null => flag || null;

export const linkOfRow = (row: RedirectRow): LinkState => {
  const createdAt = row.created_at.toISOString();
  const link: Link = {
    subject: row.subject,
    url: row.url,
    account: row.account,
    custom: row.custom !== null,
    createdAt,
    startsAt: row.starts_at?.toISOString() ?? null,
    expiresAt: row.expires_at?.toISOString() ?? null,
    maxClicks: row.max_clicks,
    passwordHash: row.password_hash,
    options: row.options ? optionsIn(row.options) : noOptions,
    title: row.title,
    note: row.note,
    tags: row.tags ?? [],
    codes: row.codes ?? noCodes,
    updatedAt: row.updated_at?.toISOString() ?? createdAt,
    liveSince: row.live_since?.toISOString() ?? createdAt,
    original: row.original,
  };
  return linkState(link, {
    deleted: row.status === 'deleted',
    blocked: row.blocked !== null,
    disabled: row.disabled !== null,
    expired: row.expired,
  });
};

/** The row of a state; `null` if the link does not exist. */
export const rowOfState = (state: LinkState, sequence: number): RedirectRow | null => {
  if (state.status === 'none') return null;
  const { status, link, restraints } = state;
  const later = (time: string): Date | null => (time === link.createdAt ? null : new Date(time));
  return {
    subject: link.subject,
    status,
    expired: restraints.expired,
    url: link.url,
    account: link.account,
    created_at: new Date(link.createdAt),
    expires_at: link.expiresAt === null ? null : new Date(link.expiresAt),
    max_clicks: link.maxClicks,
    password_hash: link.passwordHash,
    sequence,
    blocked: yes(restraints.blocked),
    disabled: yes(restraints.disabled),
    custom: yes(link.custom),
    starts_at: link.startsAt === null ? null : new Date(link.startsAt),
    title: link.title,
    note: link.note,
    tags: link.tags.length === 0 ? null : link.tags,
    updated_at: later(link.updatedAt),
    live_since: later(link.liveSince),
    original: link.original,
    options: link.options === noOptions ? null : link.options,
    codes: link.codes.length === 0 ? null : link.codes,
  };
};
