import { type Destinations } from '../../schemas/http/link-fields.js';
import type { Context } from 'koa';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { OutboxDelivery, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import { operatorTable, type OperatorOperation } from '../../schemas/http/operator-routes.js';
import type { DoctorReport } from '../../schemas/http/doctor.js';
import { methodOf, pathOf, type OperatorRows } from '../../schemas/http/route.js';
import type { PlanTable } from '../../schemas/plans.js';
import type { ActiveDomains } from '../../ops/ledger/active-domains.js';
import type { EventsDeps } from '../events/route.js';
import type { ImportDeps } from '../imports/route.js';
import type { ExportDeps } from '../links/export/route.js';
import type { WebhookCallsDeps } from '../webhooks/webhook-calls.js';
import type { ManagedLinksDeps } from '../links/change/managed-links.js';
import { json, logWithinMs, type Reply } from './reply.js';
import type { Route } from './requests.js';
import { handlerOf, readUsualBody, type AdminState, type TableHandlers } from './row-handlers.js';
import type { People } from '../people/handler.js';
import type { CodeLengths } from '../links/create/code-lengths.js';
import type { ProjectionWorker } from '../projections/handler.js';

export interface AdminDeps
  extends ManagedLinksDeps, EventsDeps, WebhookCallsDeps, ExportDeps, ImportDeps {
  readonly clock: LedgerClock;
  readonly plans: PlanTable;
  readonly destinations: Destinations;
  /** Whether a name is that of the installation itself. */
  readonly isOwnName: (name: string) => boolean;
  readonly projections: ProjectionWorker;
  /** Examines the installation, which may take longer than a request. */
  readonly examine: () => Promise<DoctorReport>;
  readonly codeLengths: CodeLengths;
  readonly activeDomains: ActiveDomains;
  readonly people: People;
  /** The address of the developers' console; `null` if there is none. */
  readonly consoleUrl: () => string | null;
  /** The origin of the API. */
  readonly apiOrigin: (ctx: Context) => string;
  /** The response to a change that is in effect: `status`, or 202 if the log does not have its event in time. */
  readonly respond: (
    outboxPosition: OutboxPosition,
    status: 200 | 201,
    body: object,
  ) => Promise<Reply>;
}

export type OperatorHandlers = TableHandlers<AdminState, typeof operatorTable>;
export type OperatorHandler<Operation extends keyof OperatorHandlers> = OperatorHandlers[Operation];

export type AdminHandlers = (deps: AdminDeps) => Partial<OperatorHandlers>;

export const createRespond =
  (delivery: OutboxDelivery): AdminDeps['respond'] =>
  async (outboxPosition, status, body) =>
    json((await delivery.published(outboxPosition, logWithinMs)) ? status : 202, body);

/** The routes of operators: the rows of the table with their handlers. */
export const operatorRoutes = (
  handlers: OperatorHandlers,
  destinations: Destinations,
): readonly Route<AdminState>[] =>
  Object.entries<OperatorRows[string]>(operatorTable).map(([operation, row]) => ({
    method: methodOf(row),
    path: pathOf(row),
    handler: handlerOf(row, handlers[operation as OperatorOperation], destinations, readUsualBody),
  }));
