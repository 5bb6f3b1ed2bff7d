/** On every answer of every listener: no browser takes an answer for another type than it has. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' } as const;
