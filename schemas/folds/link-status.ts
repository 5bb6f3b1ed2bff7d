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

/** What follows from events alone, without a clock. */
export const recordedStatuses = ['deleted', 'blocked', 'disabled', 'expired', 'active'] as const;
export type RecordedStatus = (typeof recordedStatuses)[number];

export type LinkStatus = RecordedStatus | 'scheduled';
/** In the order in which they apply. */
export const linkStatuses = [
  ...(['deleted', 'blocked', 'disabled', 'expired'] as const),
  ...(['scheduled', 'active'] as const),
] satisfies readonly LinkStatus[];

/** The status by the events of a link: the first restraint in the order of `linkStatuses` hides the others. */
export const statusOf = ({ deleted, blocked, disabled, expired }: Restraints): RecordedStatus => {
  if (deleted) return 'deleted';
  if (blocked) return 'blocked';
  if (disabled) return 'disabled';
  return expired === null ? 'active' : 'expired';
};

/**
 * The status at a moment. A link expires at its end, also before LinkExpired is written, and is scheduled before its
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

/** Whether the link redirects, now or from its start on. */
export const willRedirect = (status: LinkStatus): boolean =>
  status === 'active' || status === 'scheduled';
