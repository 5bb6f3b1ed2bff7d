/** Paths of the edge that are never short codes, without their slash. */
export const edgeRoutes: readonly string[] = [
  'robots.txt',
  'favicon.ico',
  'health',
  'health/ready',
];
