/** Every projection there is. Names of schemas are made from these and from nothing else. */
export const projectionNames = ['redirects', 'quotas', 'stats', 'history'] as const;

export type ProjectionName = (typeof projectionNames)[number];

/**
 * The PostgreSQL schema that holds a projection's rows, checkpoints, marks and dead letters. That of a
 * session's own temporary tables is for a fold that nobody else sees.
 */
export type ProjectionSchema =
  | `projection_${ProjectionName}`
  | `projection_${ProjectionName}_next`
  | `projection_${ProjectionName}_previous`
  | typeof archiveSchema
  | 'pg_temp';

/** The archive's: no read model, but it keeps progress in the same tables. */
export const archiveSchema = 'archive';

/** What readers read and the projector writes. */
export const liveSchema = <Name extends ProjectionName>(name: Name) =>
  `projection_${name}` as const;

/** What a rebuild fills. */
export const nextSchema = <Name extends ProjectionName>(name: Name) =>
  `projection_${name}_next` as const;

/** What was live before the last rebuild. */
export const previousSchema = <Name extends ProjectionName>(name: Name) =>
  `projection_${name}_previous` as const;
