import type { Context } from 'koa';
import type { ConsoleSessions } from '../../ledger/console-sessions.js';
import type { RequestState } from '../app.js';
import { json, noContent } from '../reply.js';
import type { Handler, Route } from '../requests.js';

/** A week in seconds: the server ends sessions sooner. */
const maxAge = 604_800;

/** The cookie with a session's token, of one listener's console. */
export const sessionCookie = (name: string, isSecure: (ctx: Context) => boolean) => {
  const header = (ctx: Context, value: string, seconds: number): Record<string, string> => {
    const secure = isSecure(ctx) ? '; Secure' : '';
    const text = `${name}=${value}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
    return { 'Set-Cookie': text + secure };
  };
  return {
    /** The token that a request brings; empty where it brings none. */
    read: (ctx: Context): string => ctx.cookies.get(name) ?? '',
    keep: (ctx: Context, token: string) => header(ctx, token, maxAge),
    clear: (ctx: Context) => header(ctx, '', 0),
  };
};

/** Signing in, who is signed in (`null`: nobody), and signing out. */
export const sessionRoutes = (
  cookie: ReturnType<typeof sessionCookie>,
  sessions: ConsoleSessions,
  signIn: Handler<RequestState>,
  whoIs: (ctx: Context, state: RequestState) => Promise<object | null>,
): readonly Route<RequestState>[] => [
  { method: 'POST', path: '/session', handler: signIn },
  {
    method: 'GET',
    path: '/session',
    handler: async (ctx, state) => {
      const who = await whoIs(ctx, state);
      // The first question of every page: browsers write an error to the console for a 401.
      return who ? json(200, who) : noContent();
    },
  },
  {
    method: 'DELETE',
    path: '/session',
    handler: async (ctx) => {
      await sessions.end(cookie.read(ctx));
      return noContent(cookie.clear(ctx));
    },
  },
];
