/** The comment of a projection's schema that must be rebuilt, because a migration could not convert its rows. */
export const rebuildDue = 'rebuild due';
