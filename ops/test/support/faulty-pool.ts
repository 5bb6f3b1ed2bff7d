import type pg from 'pg';
import type { Pool } from '../../platform/postgres/pool.js';

/**
 * A failure of one statement of a transaction:
 * - `throws`: the driver throws before it sends the statement;
 * - `refused`: PostgreSQL refuses the statement;
 * - `conflict`: PostgreSQL refuses it with 40001, which rolls the transaction back;
 * - `rejected`: PostgreSQL executes the statement, but the promise rejects;
 * - `cutBefore`, `cutAfter`: the connection is lost before or after the statement was sent.
 */
export const statementFaults = [
  'throws',
  'refused',
  'conflict',
  'rejected',
  'cutBefore',
  'cutAfter',
] as const;
type StatementFault = (typeof statementFaults)[number];

class InjectedFault extends Error {
  readonly code = 'INJECTED_FAULT';
}

type Client = pg.PoolClient & { query: pg.PoolClient['query'] };

/** Sends a statement that PostgreSQL refuses, instead of the original one. */
const refuse = (query: Client['query'], sqlState: string): unknown =>
  query({
    name: 'injected-fault',
    text: 'SELECT public.injected_fault($1)',
    values: [sqlState],
  });

/** Must be created in the database. */
export const injectedFaultFunction = `
  CREATE FUNCTION public.injected_fault(state text) RETURNS void LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'injected fault' USING ERRCODE = state; END $$`;

const inject = (client: Client, fault: StatementFault, query: Client['query'], args: unknown[]) => {
  const send = (): Promise<unknown> => query(...(args as [string]));
  const { stream } = (client as unknown as pg.Client).connection;
  switch (fault) {
    case 'throws':
      throw new InjectedFault('thrown before the statement was sent');
    case 'refused':
      return refuse(query, 'XX000');
    case 'conflict':
      return refuse(query, '40001');
    case 'rejected':
      return send().then(() => {
        throw new InjectedFault('rejected after it was executed');
      });
    case 'cutBefore':
      stream.destroy();
      return send();
    case 'cutAfter': {
      const sent = send();
      // The statements of an event-loop iteration are sent at its end.
      setImmediate(() => stream.destroy());
      return sent;
    }
    default: {
      const unknown: never = fault;
      throw new Error(`unknown fault ${String(unknown)}`);
    }
  }
};

/**
 * Injects a fault into the next transaction of a pool with one connection.
 *
 * @returns a function that ends the injection; it returns whether the transaction had the statement
 */
export const injectFault = (
  pool: Pool,
  statement: number,
  fault: StatementFault,
): (() => boolean) => {
  const connect = pool.connect.bind(pool);
  let injected = false;
  pool.connect = (async (callback?: unknown) => {
    if (callback !== undefined) {
      connect(callback as Parameters<typeof connect>[0]);
      return;
    }
    pool.connect = connect;
    const client: Client = await connect();
    const original = client.query;
    const query = original.bind(client);
    pool.once('release', () => {
      client.query = original;
    });
    let sent = 0;
    client.query = ((...args: unknown[]) => {
      sent += 1;
      if (sent - 1 !== statement) return query(...(args as [string]));
      injected = true;
      return inject(client, fault, query, args);
    }) as Client['query'];
    return client;
  }) as typeof pool.connect;
  return () => {
    pool.connect = connect;
    return injected;
  };
};
