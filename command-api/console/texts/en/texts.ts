/** The catalogue of English texts that the first page needs. */
export * from './shared.js';
export * from './statistics.js';
export * from './people.js';
