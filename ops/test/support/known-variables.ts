import { secretVariables } from '../../config/secrets.js';
import { variables } from '../../config/variables.js';

/** The environment variables that deployments may set. */
export const knownVariables: ReadonlySet<string> = new Set([
  ...Object.keys(variables.shape),
  ...secretVariables.map((name) => `${name}_FILE`),
  'NODE_ENV',
]);
