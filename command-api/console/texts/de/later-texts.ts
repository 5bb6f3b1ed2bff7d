/** The catalogue of German texts of the other pages. */
export * from './links.js';
export * from './resources.js';
export * from './operators.js';
