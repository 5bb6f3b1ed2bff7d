import type { Logger } from '../../platform/logging.js';
import { keepRunning, type Server } from '../process/server.js';
import { notReadySignal } from '../../platform/process/run-to-end.js';
import { serviceKinds, type ServiceKind } from './topology.js';

const serverKinds = ['kafka', 'postgres', 'redis'] as const;

export type PartKind = ServiceKind | (typeof serverKinds)[number];

const partKinds: readonly PartKind[] = [...serviceKinds, ...serverKinds];

export type Pids = Readonly<Record<PartKind, readonly number[]>>;

const byKind = <Value>(make: (kind: PartKind) => Value): Record<PartKind, Value> =>
  Object.fromEntries(partKinds.map((kind) => [kind, make(kind)])) as Record<PartKind, Value>;

/** The rest of the 10 s of a stop after the services, which take 6 s at most. */
const serverStopTimeoutMs = 3_000;

export interface Restarted {
  readonly service: PartKind;
  readonly index: number;
  readonly pid: number;
}

export class Parts {
  readonly #parts = byKind((): Server[] => []);
  readonly #stopping = new AbortController();

  /** Adds a part when it has started. A part that fails to start has no process. */
  async add<Part extends Server>(
    kind: PartKind,
    index: number,
    starting: Promise<Part>,
  ): Promise<Part> {
    const part = await starting;
    this.#parts[kind][index] = part;
    return part;
  }

  #partsOf(kind: PartKind): readonly Server[] {
    // `flat` removes the holes of parts that have not started.
    return this.#parts[kind].flat();
  }

  pids(): Pids {
    return byKind((kind) => this.#partsOf(kind).map(({ pid }) => pid));
  }

  keepRunning(logger: Logger, onRestarted: (restarted: Restarted) => void): void {
    const { signal } = this.#stopping;
    for (const kind of partKinds) {
      for (const [index, part] of this.#partsOf(kind).entries()) {
        keepRunning(part, {
          name: `${kind} ${index}`,
          signal,
          onRestarted: () => {
            onRestarted({ service: kind, index, pid: part.pid });
          },
          logger,
        });
      }
    }
  }

  /** Makes the services not ready, although they still serve. */
  beginDraining(): void {
    for (const kind of serviceKinds) {
      for (const service of this.#partsOf(kind)) service.kill(notReadySignal);
    }
  }

  /** Stops the services first, in parallel, because they ship their spools to the servers. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const services = serviceKinds.flatMap((kind) => this.#partsOf(kind));
    await Promise.all(services.map((part) => part.stop()));
    const servers = serverKinds.flatMap((kind) => this.#partsOf(kind));
    const killTimer = setTimeout(() => {
      // The next start recovers all acknowledged data.
      for (const server of servers) server.kill('SIGKILL');
    }, serverStopTimeoutMs);
    await Promise.all(servers.map((server) => server.stop()));
    clearTimeout(killTimer);
  }
}
