/** The catalogue of German texts. */
export * from './shared.js';
export * from './links.js';
export * from './statistics.js';
export * from './resources.js';
export * from './operators.js';
export * from './people.js';
