import type { Context } from 'koa';
import { messages } from '../../../schemas/http/errors.js';
import type { ExportQuery } from '../../../schemas/http/export.js';
import { callerIn } from '../../admission/live-callers.js';
import type { RequestState } from '../../http/app.js';
import { unavailable, type Reply } from '../../http/reply.js';
import type { V2Handler } from '../../http/row-handlers.js';
import { withNamedDomain } from '../addressed-link.js';
import { incompleteStats } from '../../statistics/route.js';
import { type Exports, formats, spreadsheetFormats } from './exports.js';

export interface ExportDeps {
  readonly exports: Exports;
  readonly shortUrlHost: string;
}

/** `Retry-After` is 10 s: most exports take less. */
const tooManyExports = unavailable(messages.tooManyExports, 10);

/** Responds with the links of an account as a file. */
export const createExporter = ({ exports, shortUrlHost }: ExportDeps) => {
  const forSpreadsheets = spreadsheetFormats(shortUrlHost);
  return async (
    ctx: Context,
    { format, ...filter }: ExportQuery,
    account: string,
    now: Date,
  ): Promise<Reply> => {
    const name = `linklog-links-${now.toISOString().slice(0, 10)}.${format}`;
    const file = {
      type: 'stream',
      status: 200,
      headers: {
        'Content-Type': formats[format].contentType,
        'Content-Disposition': `attachment; filename="${name}"`,
      },
    } as const;
    if (ctx.method === 'HEAD') return { ...file, start: (res) => res.end(), cancel: null };
    const named = withNamedDomain(filter, ctx.state as RequestState);
    const query = { ...named, sort: 'created', account } as const;
    // The console's users open the file in a spreadsheet.
    const written = (ctx.path.startsWith('/console/') ? forSpreadsheets : formats)[format];
    const opened = await exports.open({ query, format: written, now, caller: callerIn(ctx) });
    if (opened === 'tooMany') return tooManyExports;
    return opened === 'incomplete' ? incompleteStats : { ...file, ...opened };
  };
};

/** `GET /v2/export`. */
export const createExportHandler = (deps: ExportDeps): V2Handler<'exportLinks'> => {
  const respond = createExporter(deps);
  return ({ ctx, query, state: { call } }) => respond(ctx, query, call.key.account, call.now);
};
