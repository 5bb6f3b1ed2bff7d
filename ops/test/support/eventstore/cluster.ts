import { setTimeout as sleep } from 'node:timers/promises';
import { startEventStoreDouble, type EventStoreDouble } from './double.js';
import { Streams } from './streams.js';

interface Node {
  readonly double: EventStoreDouble;
  state: 'running' | 'hung' | 'stopped';
}

/** The time from the loss of a leader to the election of another one (ms). */
const electionMs = 500;

/**
 * A cluster of nodes with the same streams. It has a quorum while most of its nodes run. A leader without a quorum writes
 * events without committing them; the next leader does not have them.
 */
export const startEventStoreCluster = async ({ size = 3, commitTimeoutMs = 2_000 } = {}) => {
  const streams = new Streams();
  const nodes: Node[] = [];
  let leader: Node | null = null;
  const cluster = {
    leader: () => leader?.double.port ?? null,
    members: () =>
      nodes.filter(({ state }) => state !== 'stopped').map(({ double }) => double.port),
  };
  const start = async (port = 0): Promise<Node> => ({
    double: await startEventStoreDouble({ port, streams, commitTimeoutMs, cluster }),
    state: 'running',
  });
  for (let index = 0; index < size; index += 1) nodes.push(await start());
  leader = nodes[0] ?? null;

  const running = (): readonly Node[] => nodes.filter(({ state }) => state === 'running');

  /** Updates the quorum, and elects a leader if it has none. */
  const settle = async (): Promise<void> => {
    const hasQuorum = running().length * 2 > size;
    if (leader?.state !== 'running' && hasQuorum) {
      await sleep(electionMs);
      streams.rollback();
      leader = running()[0] ?? null;
    }
    streams.hasQuorum = hasQuorum && leader?.state === 'running';
    if (streams.hasQuorum) streams.commit();
  };

  const find = (role: 'leader' | 'follower'): Node => {
    const node = running().find((candidate) => (candidate === leader) === (role === 'leader'));
    if (!node) throw new Error(`the cluster has no running ${role}`);
    return node;
  };

  return {
    streams,
    url: `esdb://${nodes.map(({ double }) => `127.0.0.1:${double.port}`).join()}?tls=false`,
    /** Closes the connections of a node. The others elect another leader if it was the leader. */
    async stop(role: 'leader' | 'follower'): Promise<void> {
      const node = find(role);
      node.state = 'stopped';
      node.double.kill();
      await settle();
    },
    /** Delays the responses of a node, like SIGSTOP. */
    async hang(role: 'leader' | 'follower'): Promise<void> {
      const node = find(role);
      node.state = 'hung';
      node.double.stall();
      await settle();
    },
    /** Starts the stopped nodes again, and resumes those that hang. */
    async heal(): Promise<void> {
      for (const [index, node] of nodes.entries()) {
        if (node.state === 'stopped') nodes[index] = await start(node.double.port);
        node.double.resume();
        node.state = node.state === 'hung' ? 'running' : node.state;
      }
      await settle();
    },
    kill(): void {
      for (const { state, double } of nodes) if (state !== 'stopped') double.kill();
    },
  };
};

export type EventStoreCluster = Awaited<ReturnType<typeof startEventStoreCluster>>;
