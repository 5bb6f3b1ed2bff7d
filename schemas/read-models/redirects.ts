import type { ExpiryReason, LinkState } from '../folds/link.js';

/** A row of `projection_redirects.links`: written by the projector, read by the edge. */
export interface RedirectRow {
  readonly code: string;
  readonly status: 'active' | 'expired' | 'blocked';
  readonly expired: ExpiryReason | null;
  readonly url: string;
  readonly account: string;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly max_clicks: number | null;
  readonly password_hash: string | null;
  /** Of the last link event that is in the row. */
  readonly sequence: number;
}

/** The state that a row stands for. */
export const linkOfRow = (row: RedirectRow): LinkState => {
  const link = {
    code: row.code,
    url: row.url,
    account: row.account,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at?.toISOString() ?? null,
    maxClicks: row.max_clicks,
    passwordHash: row.password_hash,
  };
  switch (row.status) {
    case 'active':
      return { status: 'active', link };
    case 'blocked':
      return { status: 'blocked', link, expired: row.expired };
    case 'expired':
      return { status: 'expired', link, reason: row.expired ?? 'time' };
    default: {
      const unknown: never = row.status;
      return unknown;
    }
  }
};

/** The row of a state; a link that was never made has none. */
export const rowOfState = (state: LinkState, sequence: number): RedirectRow | null => {
  if (state.status === 'none') return null;
  const { link } = state;
  return {
    code: link.code,
    status: state.status,
    expired:
      state.status === 'expired' ? state.reason : state.status === 'blocked' ? state.expired : null,
    url: link.url,
    account: link.account,
    created_at: new Date(link.createdAt),
    expires_at: link.expiresAt === null ? null : new Date(link.expiresAt),
    max_clicks: link.maxClicks,
    password_hash: link.passwordHash,
    sequence,
  };
};
