/** Paths that the service answers itself, or may one day; whole aliases, whatever their case. */
const systemRoutes = new Set([
  'admin',
  'api',
  'assets',
  'batch',
  'docs',
  'favicon',
  'health',
  'metrics',
  'openapi',
  'qr',
  'ready',
  'robots',
  'shorten',
  'static',
  'stats',
  'usage',
  'well-known',
]);

const isVersion = /^v\d+$/;

/** Whether nobody may claim an alias, unless an operator lets one account. */
export const isReservedAlias = (alias: string): boolean => {
  const lowered = alias.toLowerCase();
  return systemRoutes.has(lowered) || isVersion.test(lowered);
};
