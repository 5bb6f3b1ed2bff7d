export type ExpiryReason = 'time' | 'clicks';

/** The reasons for which a link does not redirect. Several may hold at the same time. */
export interface Restraints {
  readonly deleted: boolean;
  /** An operator or the web-safety check has blocked the link. */
  readonly blocked: boolean;
  readonly disabled: boolean;
  /** The reason of LinkExpired. A link whose end has passed may not have the event yet: see `statusAt`. */
  readonly expired: ExpiryReason | null;
}

export const noRestraints: Restraints = {
  deleted: false,
  blocked: false,
  disabled: false,
  expired: null,
};

/** How long after its last event a deleted link can be restored (ms). */
export const restorableMs = 30 * 24 * 3_600_000;

/** The statuses that follow from events alone, without a clock. */
export const recordedStatuses = ['deleted', 'blocked', 'disabled', 'expired', 'active'] as const;
export type RecordedStatus = (typeof recordedStatuses)[number];

export type LinkStatus = RecordedStatus | 'scheduled';
/** The statuses in order of precedence. */
export const linkStatuses = [
  ...(['deleted', 'blocked', 'disabled', 'expired'] as const),
  ...(['scheduled', 'active'] as const),
] satisfies readonly LinkStatus[];

/** The status without a clock: the first restraint in the order of `linkStatuses` hides the others. */
export const statusOf = ({ deleted, blocked, disabled, expired }: Restraints): RecordedStatus => {
  if (deleted) return 'deleted';
  if (blocked) return 'blocked';
  if (disabled) return 'disabled';
  return expired === null ? 'active' : 'expired';
};

/**
 * The status at a time. A link expires at its end, even if LinkExpired is not written yet, and is scheduled before its
 * start. Times are milliseconds since the epoch; `null`: the link has no start or no end.
 */
export const statusAt = (
  status: RecordedStatus,
  startsAt: number | null,
  expiresAt: number | null,
  now: number,
): LinkStatus => {
  if (status !== 'active') return status;
  if (expiresAt !== null && now >= expiresAt) return 'expired';
  return startsAt !== null && now < startsAt ? 'scheduled' : 'active';
};

export const willRedirect = (status: LinkStatus): boolean =>
  status === 'active' || status === 'scheduled';
