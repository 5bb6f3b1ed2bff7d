/** The cookie of a sign-in, in which the browser keeps what the provider must send back. Each sign-in has its own. */
import type { Context } from 'koa';
import { z } from 'zod';

const signInStart = z.object({
  state: z.string().max(200),
  nonce: z.string().max(200),
  verifier: z.string().max(200),
  /** The address of the callback, which the provider compares. */
  redirectUri: z.url().max(500),
  /** The account in which the session starts, if the person has a role there. */
  account: z.string().max(64).nullable(),
  /** The token of an invitation. */
  invitation: z.string().max(64).nullable(),
});
export type SignInStart = z.infer<typeof signInStart>;

export const callbackPath = '/console/oidc/callback';
/** How long a person may take to sign in at the provider (s). */
const maxAge = 600;

const nameOf = (state: string): string => `linklog_sign_in_${state.slice(0, 16)}`;

const cookie = (state: string, value: string, seconds: number, isSecure: boolean) => ({
  // The provider's page leads to the callback, so the cookie cannot be `Strict`.
  'Set-Cookie': `${nameOf(state)}=${value}; Path=${callbackPath}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
});

const isSecure = ({ redirectUri }: SignInStart): boolean => redirectUri.startsWith('https:');

export const keepStart = (start: SignInStart) => {
  const value = Buffer.from(JSON.stringify(start)).toString('base64url');
  return cookie(start.state, value, maxAge, isSecure(start));
};

export const clearStart = (start: SignInStart) => cookie(start.state, '', 0, isSecure(start));

/** The sign-in that this browser started with the state of a callback; `null`: none. */
export const readStart = (ctx: Context): SignInStart | null => {
  const { state } = ctx.query;
  if (typeof state !== 'string' || !/^[\w-]{16,200}$/.test(state)) return null;
  const text = Buffer.from(ctx.cookies.get(nameOf(state)) ?? '', 'base64url').toString();
  try {
    const start = signInStart.safeParse(JSON.parse(text));
    return start.success && start.data.state === state ? start.data : null;
  } catch {
    // No JSON.
    return null;
  }
};
