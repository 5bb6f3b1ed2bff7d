/**
 * The generation of the tables that this build reads and writes: the highest number that a file in `ops/migrations/`
 * states. PostgreSQL refuses the writes of sessions of another generation (`ops/migrations/generation.sql`).
 */
export const generation = 3;

/** A session of this build states its generation once, so that no transaction has an additional statement. */
export const stateGeneration = `SET linklog.generation = ${generation}`;

/** The comment of a schema that must be rebuilt, because a migration could not convert its rows. */
export const rebuildDue = 'rebuild due';
