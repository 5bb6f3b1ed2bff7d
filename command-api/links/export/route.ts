import { messages } from '../../../schemas/http/errors.js';
import type { ExportQuery } from '../../../schemas/http/export.js';
import { callerIn } from '../../admission/live-callers.js';
import { unavailable, type Reply } from '../../http/reply.js';
import { accountOf, isOfOperator, type AnyRequest } from '../../http/row-handlers.js';
import { withNamedDomain } from '../addressed-link.js';
import { incompleteStats } from '../../statistics/route.js';
import { type Exports, formats, spreadsheetFormats } from './exports.js';

export interface ExportDeps {
  readonly exports: Exports;
  readonly shortUrlHost: string;
}

/** `Retry-After` is 10 s: most exports take less. */
const tooManyExports = unavailable(messages.tooManyExports, 10);

type ExportRequest = Pick<AnyRequest<'exportLinks'>, 'ctx' | 'state'> & {
  readonly query: ExportQuery & { readonly account?: string };
};

/** `GET …/export`: a file with the links of the account, or of the account in an operator's query. */
export const createExportHandler = ({ exports, shortUrlHost }: ExportDeps) => {
  const forSpreadsheets = spreadsheetFormats(shortUrlHost);
  return async ({ ctx, query, state }: ExportRequest): Promise<Reply> => {
    const { format, account: named = '', ...filter } = query;
    const account = accountOf(state) ?? named;
    const now = isOfOperator(state) ? new Date() : state.call.now;
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
    const links = { ...withNamedDomain(filter, state), sort: 'created', account } as const;
    // The console's users open the file in a spreadsheet.
    const written = (ctx.path.startsWith('/console/') ? forSpreadsheets : formats)[format];
    const opened = await exports.open({
      query: links,
      format: written,
      now,
      caller: callerIn(ctx),
    });
    if (opened === 'tooMany') return tooManyExports;
    return opened === 'incomplete' ? incompleteStats : { ...file, ...opened };
  };
};
