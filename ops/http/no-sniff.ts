/** In every response of every listener: browsers must not guess another content type. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' } as const;
