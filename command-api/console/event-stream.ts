/** The console's client takes only types from the schemas, which would ship zod. This module does not import it. */
export { EventStreamParser } from '../../schemas/event-stream.js';
