import { DeadlinePassed, withinDeadline } from '../platform/concurrency/deadline.js';
import { DependencyFault } from '../platform/dependency-fault.js';
import type { HealthCheck, HealthReport } from '../http/health.js';
import type { Logger } from '../platform/logging.js';

const timeoutMs = 1_500;
/** How long a report is cached (ms), because unauthenticated clients may request it at any rate. */
const cacheMs = 500;

type Projections = HealthReport['projections'];
type Dependency = HealthReport['dependencies'][string];

/** `value` is `null` if the check failed. */
interface CheckResult<Value> extends Dependency {
  readonly value: Value | null;
  readonly err?: unknown;
}

/** For example ECONNREFUSED or 57P03. The message is not published, because it may name an address or an account. */
const codePattern = /^[A-Z0-9_]{1,50}$/;

const codeOf = (error: unknown): string | undefined => {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && codePattern.test(code) ? code : undefined;
};

/** Never rejects, and resolves within `timeoutMs`. */
const runCheck = async <Value>(check: () => Promise<Value>): Promise<CheckResult<Value>> => {
  try {
    return { state: 'up', value: await withinDeadline(timeoutMs, check) };
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

const publicState = ({ state, code, detail }: CheckResult<unknown>): Dependency => ({
  state,
  ...(code !== undefined && { code }),
  ...(detail !== undefined && { detail }),
});

export const createHealthCheck = ({
  dependencies,
  optional = {},
  projections,
  missingEvents,
  spool,
  compaction,
  maintenance,
  isDraining,
  logger,
}: {
  /** By name. A dependency whose check rejects or times out is down. */
  readonly dependencies: Readonly<Record<string, () => Promise<unknown>>>;
  /** Reported without effect on `status`, because every request can be served without them. */
  readonly optional?: Readonly<Record<string, () => Promise<unknown>>>;
  readonly projections: () => Promise<Projections>;
  /** Reported without effect on `status`, because the events in the log are served nevertheless. */
  readonly missingEvents: () => Promise<HealthReport['missingEvents']>;
  readonly spool: () => HealthReport['spool'];
  readonly compaction: () => Promise<HealthReport['compaction']>;
  readonly maintenance: () => Promise<HealthReport['maintenance']>;
  readonly isDraining: () => boolean;
  readonly logger: Logger;
}): HealthCheck => {
  const down = new Set<string>();

  const logChange = (dependency: string, result: CheckResult<unknown>): void => {
    if (result.state === 'up') {
      if (down.delete(dependency)) logger.info({ dependency }, 'dependency is up again');
    } else if (!down.has(dependency)) {
      down.add(dependency);
      const { code, detail, err } = result;
      logger.warn({ dependency, code, detail, err }, 'dependency is down');
    }
  };

  const check = async (): Promise<HealthReport> => {
    const [projected, missing, compacted, maintained, ...others] = await Promise.all([
      runCheck(projections),
      runCheck(missingEvents),
      runCheck(compaction),
      runCheck(maintenance),
      ...Object.entries({ ...dependencies, ...optional }).map(
        async ([name, dependency]) => [name, await runCheck(dependency)] as const,
      ),
    ]);
    const results = [...others, ['projections', projected] as const];
    for (const [name, result] of results) logChange(name, result);
    const passes = results.every(([name, { state }]) => state === 'up' || name in optional);
    return {
      status: passes ? 'pass' : 'fail',
      dependencies: Object.fromEntries(
        results.map(([name, result]) => [name, publicState(result)]),
      ),
      projections: projected.value ?? [],
      missingEvents: missing.value,
      spool: spool(),
      compaction: compacted.value,
      maintenance: maintained.value,
    };
  };

  let last: { readonly at: number; readonly report: Promise<HealthReport> } | null = null;
  return async () => {
    if (!last || performance.now() - last.at > cacheMs) {
      last = { at: performance.now(), report: check() };
    }
    const report = await last.report;
    return isDraining() ? { ...report, status: 'draining' } : report;
  };
};
