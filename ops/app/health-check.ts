import { DeadlinePassed, withinDeadline } from '../platform/concurrency/deadline.js';
import { DependencyFault } from '../platform/dependency-fault.js';
import type { HealthCheck, HealthReport } from '../http/health.js';
import type { Logger } from '../platform/logging.js';

const timeoutMs = 1_500;
/** Milliseconds that a report is reused: anybody may ask for one, as often as they like. */
const rememberMs = 500;

type Projections = HealthReport['projections'];
type Dependency = HealthReport['dependencies'][string];

/** `value` is `null` where the check failed. */
interface Look<Value> extends Dependency {
  readonly value: Value | null;
  readonly err?: unknown;
}

/** Such as ECONNREFUSED or 57P03. Never the message, which may name an address or an account. */
const codePattern = /^[A-Z0-9_]{1,50}$/;

const codeOf = (error: unknown): string | undefined => {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && codePattern.test(code) ? code : undefined;
};

/** Never rejects, and settles within `timeoutMs`. */
const lookAt = async <Value>(look: () => Promise<Value>): Promise<Look<Value>> => {
  try {
    return { state: 'up', value: await withinDeadline(timeoutMs, look) };
  } catch (err) {
    if (err instanceof DeadlinePassed) return { state: 'down', value: null, code: 'TIMEOUT' };
    if (err instanceof DependencyFault) {
      const { code, message: detail, severity } = err;
      return { state: severity === 'down' ? 'down' : 'up', value: null, code, detail };
    }
    const code = codeOf(err);
    return { state: 'down', value: null, err, ...(code !== undefined && { code }) };
  }
};

/** The public part: the value and the error stay inside. */
const stateOf = ({ state, code, detail }: Look<unknown>): Dependency => ({
  state,
  ...(code !== undefined && { code }),
  ...(detail !== undefined && { detail }),
});

/** Looks at each dependency, the projections and the spool; see `HealthCheck`. */
export const createHealthCheck = (deps: {
  /** By name; one that rejects or takes too long is down. */
  readonly dependencies: Readonly<Record<string, () => Promise<unknown>>>;
  /** Reported, but they never fail the check: everything is served without them. */
  readonly optional?: Readonly<Record<string, () => Promise<unknown>>>;
  readonly projections: () => Promise<Projections>;
  /** Reported, and never fails the check: what is in the log is served all the same. */
  readonly missingEvents: () => Promise<HealthReport['missingEvents']>;
  readonly spool: () => HealthReport['spool'];
  readonly compaction: () => Promise<HealthReport['compaction']>;
  readonly logger: Logger;
}): HealthCheck => {
  const {
    dependencies,
    optional = {},
    projections,
    missingEvents,
    spool,
    compaction,
    logger,
  } = deps;
  const down = new Set<string>();

  /** Logs changes only, not each look. */
  const report = (dependency: string, look: Look<unknown>): void => {
    if (look.state === 'up') {
      if (down.delete(dependency)) logger.info({ dependency }, 'a dependency is up again');
    } else if (!down.has(dependency)) {
      down.add(dependency);
      const { code, detail, err } = look;
      logger.warn({ dependency, code, detail, err }, 'a dependency is down');
    }
  };

  const look = async (): Promise<HealthReport> => {
    const [folded, missing, compacted, ...others] = await Promise.all([
      lookAt(projections),
      lookAt(missingEvents),
      lookAt(compaction),
      ...Object.entries({ ...dependencies, ...optional }).map(
        async ([name, dependency]) => [name, await lookAt(dependency)] as const,
      ),
    ]);
    const looks = [...others, ['projections', folded] as const];
    for (const [name, seen] of looks) report(name, seen);
    return {
      status: looks.every(([name, { state }]) => state === 'up' || name in optional)
        ? 'pass'
        : 'fail',
      dependencies: Object.fromEntries(looks.map(([name, seen]) => [name, stateOf(seen)])),
      projections: folded.value ?? [],
      missingEvents: missing.value,
      spool: spool(),
      compaction: compacted.value,
    };
  };

  let last: { readonly at: number; readonly report: Promise<HealthReport> } | null = null;
  return () => {
    if (!last || performance.now() - last.at > rememberMs) {
      last = { at: performance.now(), report: look() };
    }
    return last.report;
  };
};
