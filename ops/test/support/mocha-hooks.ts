import { endShared } from './at-end.js';
import '../venv-path.js';

/** Called after the last test; not in the workers of `mocha --parallel`. */
export const mochaGlobalTeardown = endShared;
