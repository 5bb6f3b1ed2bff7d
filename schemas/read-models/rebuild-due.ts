/** The comment of a projection's schema whose rows are not what the log gives, since a migration could not make them so. */
export const rebuildDue = 'rebuild due';
