import type { Part } from './part.js';
import { serviceKinds, type ServiceKind } from './topology.js';

const serverKinds = ['kafka', 'postgres', 'redis'] as const;

export type PartKind = ServiceKind | (typeof serverKinds)[number];

export const partKinds: readonly PartKind[] = [...serviceKinds, ...serverKinds];

export type Pids = Readonly<Record<PartKind, readonly number[]>>;

/** What is left of the 10 s when the services, which have 6, are gone. */
const serversEndWithinMs = 3_000;

/** What a stack has started, of each kind in its order. */
export class Parts {
  readonly #parts: Record<PartKind, Part[]> = {
    api: [],
    edge: [],
    projector: [],
    kafka: [],
    postgres: [],
    redis: [],
  };

  /** Adds a part once it has started; one that fails to start has ended. */
  async add<Kind extends Part>(
    kind: PartKind,
    index: number,
    starting: Promise<Kind>,
  ): Promise<Kind> {
    const part = await starting;
    this.#parts[kind][index] = part;
    return part;
  }

  of(kind: PartKind): readonly Part[] {
    // Without the holes of those that did not start.
    return this.#parts[kind].flat();
  }

  pids(): Pids {
    const pidsOf = (kind: PartKind): readonly number[] => this.of(kind).map(({ pid }) => pid);
    return {
      api: pidsOf('api'),
      edge: pidsOf('edge'),
      projector: pidsOf('projector'),
      kafka: pidsOf('kafka'),
      postgres: pidsOf('postgres'),
      redis: pidsOf('redis'),
    };
  }

  /** Services first, all at once: what they still have they ship to the servers. */
  async stop(): Promise<void> {
    const services = serviceKinds.flatMap((kind) => this.of(kind));
    await Promise.all(services.map((part) => part.stop()));
    const servers = serverKinds.flatMap((kind) => this.of(kind));
    const hurry = setTimeout(() => {
      // What was acknowledged outlives it: the next start recovers it.
      for (const server of servers) server.kill('SIGKILL');
    }, serversEndWithinMs);
    await Promise.all(servers.map((server) => server.stop()));
    clearTimeout(hurry);
  }
}
