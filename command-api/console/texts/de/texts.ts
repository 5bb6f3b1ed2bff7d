/** The catalogue of German texts that the first page needs. */
export * from './shared.js';
export * from './statistics.js';
export * from './people.js';
