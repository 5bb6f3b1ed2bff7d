import type { Metrics } from '../metrics/metrics.js';
import type { PasswordHasher } from './password-hasher.js';

/** Tells of the queue in which passwords are hashed and checked. */
export const exposePasswords = (metrics: Metrics, { load }: Pick<PasswordHasher, 'load'>): void => {
  metrics.gauge({
    name: 'linklog_password_hashes_running',
    help: 'Passwords that are hashed or checked at the moment',
    read: () => load.running,
  });
  metrics.gauge({
    name: 'linklog_password_hashes_waiting',
    help: 'Passwords that wait to be hashed or checked',
    read: () => load.waiting,
  });
  metrics.counter({
    name: 'linklog_password_hashes_refused_total',
    help: 'Passwords refused since too many waited: 503',
    read: () => load.refused,
  });
};
