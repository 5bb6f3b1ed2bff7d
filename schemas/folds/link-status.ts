export type ExpiryReason = 'time' | 'clicks';

/** What may keep a link from leading anywhere: any of them at once. */
export interface Restraints {
  /** For good. */
  readonly deleted: boolean;
  /** By an operator or by the web-safety check. */
  readonly blocked: boolean;
  /** By its owner. */
  readonly disabled: boolean;
  /** As far as an event has said so: see `statusAt`. */
  readonly expired: ExpiryReason | null;
}

export const unrestrained: Restraints = {
  deleted: false,
  blocked: false,
  disabled: false,
  expired: null,
};

export const linkStatuses = ['deleted', 'blocked', 'disabled', 'expired', 'active'] as const;
export type LinkStatus = (typeof linkStatuses)[number];

/** What a link is to whoever asks: the first restraint in the order of `linkStatuses` hides the others. */
export const statusOf = ({ deleted, blocked, disabled, expired }: Restraints): LinkStatus => {
  if (deleted) return 'deleted';
  if (blocked) return 'blocked';
  if (disabled) return 'disabled';
  return expired === null ? 'active' : 'expired';
};

/**
 * The same at a moment, in milliseconds since the epoch. A link whose time is over has expired, also before
 * LinkExpired is written. `expiresAt`: `Infinity` for a link without an end.
 */
export const statusAt = (status: LinkStatus, expiresAt: number, now: number): LinkStatus =>
  status === 'active' && now >= expiresAt ? 'expired' : status;
