/** GET /integrations/…: files that set up other programs. They contain no key. */
import type { Context, Next } from 'koa';
import { json, refusesMethod, send } from './reply.js';

export const sharexPath = '/integrations/sharex.sxcu';

/** A custom uploader of ShareX, which shortens URLs. The user replaces the key. */
const sharexUploader = (apiOrigin: string) => ({
  Version: '17.0.0',
  Name: 'Linklog',
  DestinationType: 'URLShortener',
  RequestMethod: 'POST',
  RequestURL: `${apiOrigin}/v2/shorten`,
  Headers: { Authorization: 'Bearer YOUR_API_KEY' },
  Body: 'JSON',
  Data: '{"url":"{input}"}',
  URL: '{json:shortUrl}',
  ErrorMessage: '{json:message}',
});

export const integrations =
  (apiOrigin: (ctx: Context) => string) =>
  async (ctx: Context, next: Next): Promise<void> => {
    if (ctx.path !== sharexPath) {
      await next();
      return;
    }
    if (refusesMethod(ctx)) return;
    const headers = {
      // The origin is that of the request.
      'Cache-Control': 'no-store',
      'Content-Disposition': 'attachment; filename="linklog.sxcu"',
    };
    send(ctx, json(200, sharexUploader(apiOrigin(ctx)), headers));
  };
