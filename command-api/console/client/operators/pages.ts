/** The pages of operators, which are loaded after the sign-in. */
export { Sessions } from '../sessions/sessions.js';
export { Abuse } from './abuse.js';
export { AllChanges } from './all-changes.js';
export { AllDomains } from './all-domains.js';
export { AllKeys } from './all-keys.js';
export { AllLinks } from './all-links.js';
export { AllPeople } from './all-people.js';
export { AnyLink } from './any-link.js';
export { Health } from './health.js';
export { Platform } from './platform.js';
export { Projections } from './projections.js';
