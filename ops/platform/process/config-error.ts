/** The configuration is invalid: one line that names the variable. The process exits with `configExitCode`. */
export class ConfigError extends Error {
  readonly code: string = 'CONFIG';
}

/** EX_CONFIG of sysexits.h. */
export const configExitCode = 78;
