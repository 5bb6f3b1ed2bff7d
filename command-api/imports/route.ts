import { isPersonId } from '../../schemas/roles.js';
import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { allowStall, withSlowBody } from '../../ops/http/connections.js';
import { findActiveDomains, type ActiveDomains } from '../../ops/ledger/active-domains.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import type {
  ImportedRowsQuery,
  ImportListResponse,
  ImportResponse,
} from '../../schemas/http/imports.js';
import type { RequestState } from '../http/app.js';
import {
  failure,
  json,
  noContent,
  prefers,
  unavailable,
  type Reply,
  writePart,
} from '../http/reply.js';
import { actorIn } from '../http/request-actor.js';
import { accountOf, type AnyRequest, type V2Handlers } from '../http/row-handlers.js';
import { namedDomain } from '../links/addressed-link.js';
import { ImportFileFault } from './formats/records.js';
import { countUnfinished, endImport, readImports, readOutcomes } from './store.js';
import { ImportTooLarge, receiveFile, UploadTooSlow, type UploadRequest } from './upload.js';

export interface ImportDeps {
  readonly pool: Pool;
  readonly activeDomains: ActiveDomains;
  readonly logger: Logger;
  /** The largest file of a client, before decompression. */
  readonly maxImportBytes: number;
}

const jsonLines = 'application/x-ndjson';

/** Running imports of an account, with the files that are received. */
const maxUnfinished = 10;
/** Files that this process receives at the same time. An account without one can always send one, up to `most`. */
const maxUploads = { usual: 8, most: 64, ofAccount: 4 };

/** `Retry-After` is 10 s. */
const tooManyImports = unavailable(messages.tooManyImports, 10);
const unknownImport = failure(404, messages.importNotFound);

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The rest of the body is not read, so the connection cannot be reused. */
const closing = { Connection: 'close' };

/** Whether the content coding of a file is none or gzip. */
const isReadable = (encoding: string | undefined): boolean =>
  ['', 'identity', 'gzip', 'x-gzip'].includes((encoding ?? '').trim().toLowerCase());

/** What the imports of clients and of operators share. */
export const createImports = ({ pool, activeDomains, logger }: ImportDeps) => {
  /** The accounts whose files are received. */
  const uploading: string[] = [];

  const find = async (id: string, account: string | null): Promise<ImportResponse | null> =>
    uuid.test(id) ? ((await readImports(pool, account, id))[0] ?? null) : null;

  const receive = async (ctx: Context, request: UploadRequest): Promise<Reply> => {
    try {
      const id = await withSlowBody(ctx.req, () => receiveFile(pool, logger, request));
      const started = await find(id, null);
      if (!started) throw new Error(`the new import ${id} does not exist`);
      const { account, actor } = request;
      logger.info({ import: id, account, actor, format: started.format }, 'import started');
      return json(202, started);
    } catch (error) {
      if (error instanceof ImportTooLarge) return failure(413, messages.bodyTooLarge, closing);
      if (error instanceof UploadTooSlow) return failure(408, messages.requestTimeout, closing);
      if (error instanceof ImportFileFault) return failure(400, error.message, closing);
      // The client closed the connection, so that no response reaches it.
      if (!ctx.req.complete && ctx.req.destroyed) return failure(400, messages.badRequest);
      throw error;
    }
  };

  const writeRows = async (
    res: ServerResponse,
    id: string,
    { outcome }: ImportedRowsQuery,
  ): Promise<void> => {
    const isWanted = (line: string): boolean =>
      line !== '' && (JSON.parse(line) as { readonly outcome: string }).outcome === outcome;
    for (
      let portion = await readOutcomes(pool, id, -1);
      portion !== null && !res.destroyed;
      portion = await readOutcomes(pool, id, portion.number)
    ) {
      const lines = portion.outcomes.split('\n').filter(isWanted);
      const text =
        outcome === undefined ? portion.outcomes : lines.map((line) => `${line}\n`).join('');
      if (text !== '') await writePart(res, text);
    }
    res.end();
  };

  return {
    list: async (account: string | null): Promise<Reply> => {
      const body: ImportListResponse = { imports: [...(await readImports(pool, account))] };
      return json(200, body);
    },

    show: async ({ state, parameter }: AnyRequest<'getImport'>): Promise<Reply> => {
      const found = await find(parameter('id'), accountOf(state));
      return found ? json(200, found) : unknownImport;
    },

    stop: async ({ state, parameter }: AnyRequest<'stopImport'>): Promise<Reply> => {
      const id = parameter('id');
      if (!(await find(id, accountOf(state)))) return unknownImport;
      await endImport(pool, id, 'stopped', null);
      return noContent();
    },

    rows: async ({
      ctx,
      query,
      state,
      parameter,
    }: AnyRequest<'getImportedRows'>): Promise<Reply> => {
      const id = parameter('id');
      if (!(await find(id, accountOf(state)))) return unknownImport;
      const type = prefers(ctx, 'text/plain', jsonLines) ? 'text/plain' : jsonLines;
      const headers = { 'Content-Type': `${type}; charset=utf-8` };
      const start = (res: ServerResponse): void => {
        if (ctx.method === 'HEAD') {
          res.end();
          return;
        }
        allowStall(res, 60_000);
        writeRows(res, id, query).catch((err: unknown) => {
          logger.warn({ err, import: id }, 'the rows of an import could not be sent');
          res.destroy();
        });
      };
      return { type: 'stream', status: 200, headers, start, cancel: null };
    },

    /** Receives a file. */
    async upload(
      ctx: Context,
      state: Pick<RequestState, 'uncounted' | 'defaultDomain'>,
      request: Omit<UploadRequest, 'chunks'>,
    ): Promise<Reply> {
      if (!isReadable(ctx.headers['content-encoding'])) {
        return failure(415, messages.importEncoding, closing);
      }
      const { account, query, maxBytes } = request;
      const domain = namedDomain(query.domain, state);
      const domains = domain === null ? [] : [domain];
      const active = await findActiveDomains({ activeDomains }, account, domains);
      if (active.size < domains.length) {
        return failure(400, messages.domainInactive, closing);
      }
      if (Number(ctx.headers['content-length'] ?? 0) > maxBytes) {
        return failure(413, messages.bodyTooLarge, closing);
      }
      const busy = { ...tooManyImports, headers: { ...tooManyImports.headers, ...closing } };
      const ofAccount = uploading.filter((other) => other === account).length;
      const isBusy =
        ofAccount >= maxUploads.ofAccount ||
        uploading.length >= (ofAccount === 0 ? maxUploads.most : maxUploads.usual);
      if (isBusy) return busy;
      uploading.push(account);
      try {
        if ((await countUnfinished(pool, account)) >= maxUnfinished) return busy;
        // The client determines the time.
        return await state.uncounted(receive(ctx, { ...request, chunks: ctx.req }));
      } finally {
        uploading.splice(uploading.indexOf(account), 1);
      }
    },
  };
};

/** `/v2/imports`. */
export const createImportHandlers = (deps: ImportDeps) => {
  const imports = createImports(deps);
  return {
    startImport({ ctx, query, state }) {
      if (!state.platform.shortening) return failure(400, messages.shorteningOff, closing);
      const { account, id, rootId } = state.call.key;
      // An import of a person does not end with its role.
      const keyId = isPersonId(id) ? rootId : id;
      return imports.upload(ctx, state, {
        ...{ account, keyId, ...actorIn(state, id) },
        ...{ query, maxBytes: deps.maxImportBytes },
      });
    },
    listImports: ({ state }) => imports.list(state.call.key.account),
    ...{ getImport: imports.show, stopImport: imports.stop, getImportedRows: imports.rows },
  } satisfies Partial<V2Handlers>;
};
