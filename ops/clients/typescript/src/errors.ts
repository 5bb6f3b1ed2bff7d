import type { Schemas } from './operations.js';

/** The body of an error: `statusCode`, `message`, and what explains the error. */
export type ErrorBody = Schemas['Error'];

const fieldsOf = (body: unknown): Partial<ErrorBody> =>
  typeof body === 'object' && body !== null ? body : {};

/** The API refused a request. There is a class for each documented status. */
export class LinklogError extends Error {
  override readonly name: string = 'LinklogError';
  /** Why a link does not redirect, of a 410. */
  readonly errorType: ErrorBody['errorType'];

  constructor(
    readonly status: number,
    /** An `ErrorBody`, or a text that is not of the API. */
    readonly body: unknown,
    /** For the operator, who finds it in the log. */
    readonly requestId: string | null,
    /** Seconds until the next attempt, if the response has the header. */
    readonly retryAfter: number | null,
  ) {
    const { message = `The response has the status ${status}`, errorType } = fieldsOf(body);
    super(message);
    this.errorType = errorType;
  }

  /** Whether the quota of the month is used up. */
  get isQuota(): boolean {
    return fieldsOf(this.body).resetDate !== undefined;
  }
}

const classes = new Map<number, typeof LinklogError>();

/** A subclass for a status. Bundlers change the names of classes, so it has its name as text. */
const errorOf = (status: number, name: string): typeof LinklogError => {
  const Class = class extends LinklogError {
    override readonly name = name;
  };
  classes.set(status, Class);
  return Class;
};

/** 400: a field or a parameter is invalid. */
export const BadRequestError = errorOf(400, 'BadRequestError');
/** 401: the key is missing, unknown or inactive. */
export const UnauthorizedError = errorOf(401, 'UnauthorizedError');
/** 403: the key lacks a scope, or the plan a feature. */
export const ForbiddenError = errorOf(403, 'ForbiddenError');
/** 404: the account has nothing of this name. */
export const NotFoundError = errorOf(404, 'NotFoundError');
export const MethodNotAllowedError = errorOf(405, 'MethodNotAllowedError');
export const RequestTimeoutError = errorOf(408, 'RequestTimeoutError');
/** 409: the state does not permit the call, or a request with this Idempotency-Key is in progress. */
export const ConflictError = errorOf(409, 'ConflictError');
/** 410: the link does not redirect any more; `errorType` has the reason. */
export const GoneError = errorOf(410, 'GoneError');
/** 412: the link has another version than `ifMatch`. */
export const PreconditionFailedError = errorOf(412, 'PreconditionFailedError');
export const PayloadTooLargeError = errorOf(413, 'PayloadTooLargeError');
export const UnsupportedMediaTypeError = errorOf(415, 'UnsupportedMediaTypeError');
/** 422: the Idempotency-Key was used with another body. */
export const IdempotencyMismatchError = errorOf(422, 'IdempotencyMismatchError');
/** 429: the limit per minute, or a quota of the month (`body.resetDate`). */
export const RateLimitError = errorOf(429, 'RateLimitError');
export const InternalServerError = errorOf(500, 'InternalServerError');
/** 503: the service is unavailable; the request may still take effect. */
export const ServiceUnavailableError = errorOf(503, 'ServiceUnavailableError');

/** The error of a response, of the class of its status. */
export const toLinklogError = (
  ...response: ConstructorParameters<typeof LinklogError>
): LinklogError => new (classes.get(response[0]) ?? LinklogError)(...response);

/** There was no complete response: the connection failed or was cut. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(
    message: string,
    /** Such as `ECONNREFUSED`, if the runtime reports one. */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** There was no response within `timeoutMs`. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The `signal` of the caller was aborted; `cause` is its reason. */
export class AbortError extends Error {
  override readonly name = 'AbortError';

  constructor(reason: unknown) {
    super('The request was aborted', { cause: reason });
  }
}

/** A request is not an authentic delivery of a webhook. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}
