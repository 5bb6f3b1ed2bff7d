import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { describeError } from '../../describe-error.js';
import type { UrlFault } from '../../../../schemas/http/link-fields.js';
import type { Failure } from '../app/api.js';
import { Changes } from '../app/changes.js';
import { useOwner } from '../app/owner.js';
import { texts } from '../../texts.js';

const text = texts.components;

interface Props {
  readonly failure: Failure | undefined;
  /** Retries. Without it, the user can submit the form again. Not offered if a retry cannot succeed. */
  readonly onRetry?: () => void;
  /** Whether the user is typing, and must not lose the focus. */
  readonly keepsFocus?: boolean;
  /** Details, after the message. */
  readonly children?: ComponentChildren;
}

/** Seconds until the user may retry. */
const useCountdown = (failure: Failure | undefined): number => {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (failure?.kind !== 'wait') return undefined;
    const end = performance.now() + failure.seconds * 1_000;
    const show = (): void => setLeft(Math.max(0, Math.ceil((end - performance.now()) / 1_000)));
    show();
    const timer = setInterval(show, 500);
    return () => clearInterval(timer);
  }, [failure]);
  return left;
};

interface Fault {
  readonly message: string;
  readonly reason?: UrlFault | undefined;
}

/** The message of a rejected request, in words of the console where it has some. */
export const messageOf = ({ message, reason }: Fault): string =>
  describeError(message, reason && text.urlFaults[reason]);

/** Statuses of rejected requests that a retry can change: timeout, conflict, too early, too many requests. */
const temporary: readonly number[] = [408, 409, 425, 429];

/** Whether the same request can succeed later. */
const canRetry = (failure: Failure): boolean =>
  failure.kind !== 'refused' ||
  failure.status < 400 ||
  failure.status >= 500 ||
  temporary.includes(failure.status);

const adviceOf = (failure: Failure, plansUrl: string | null) => {
  switch (failure.kind) {
    case 'offline':
      return text.offline;
    case 'plan':
      return (
        <>
          {failure.message} {plansUrl !== null && <a href={plansUrl}>{text.seePlans}</a>}
        </>
      );
    case 'wait':
      // Some messages end with a full stop.
      return <>{failure.message.replace(/\.?$/, '.')}</>;
    case 'refused':
      return <>{messageOf(failure)}</>;
  }
};

/** What is wrong with the values of a page. */
export const Alert = ({ children }: { readonly children: string }) => (
  <p class="bad" role="alert">
    {children}
  </p>
);

/** The field of the form that a message names. */
const fieldOf = (box: HTMLElement, failure: Failure | undefined): HTMLElement | undefined => {
  if (failure?.kind !== 'refused') return undefined;
  const named = ({ name }: HTMLInputElement) =>
    name !== '' && new RegExp(String.raw`\b${name}s?\b`, 'i').test(failure.message);
  const fields = box.closest('form')?.querySelectorAll<HTMLInputElement>('input, select, textarea');
  return [...(fields ?? [])].find(named);
};

/**
 * The message of a failure. It is moved to the field that it names, if any. The field gets the focus, or the message, so
 * that the user notices it.
 */
export const Trouble = ({ failure, onRetry, keepsFocus = false, children }: Props) => {
  const left = useCountdown(failure);
  const { plansUrl } = useOwner();
  const { maintenance } = useContext(Changes);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  // A layout effect moves the message before it is painted.
  useLayoutEffect(() => {
    const message = box.current;
    if (!message || keepsFocus) return undefined;
    const wrapper = message.parentElement;
    const field = fieldOf(message, failure);
    field?.closest('details')?.setAttribute('open', '');
    (field ?? message).focus();
    if (!field) return undefined;
    const hint = field.getAttribute('aria-describedby');
    field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-describedby', hint === null ? id : `${id} ${hint}`);
    (field.closest('label') ?? field).after(message);
    return () => {
      // Also if the wrapper was removed: then the message is removed with it.
      wrapper?.append(message);
      field.removeAttribute('aria-invalid');
      if (hint === null) field.removeAttribute('aria-describedby');
      else field.setAttribute('aria-describedby', hint);
    };
  }, [failure]);
  // The banner says it once for all parts of the page, which are loaded again after the maintenance.
  const isInBanner = maintenance !== null && onRetry && failure?.kind === 'wait';
  if (!failure || isInBanner) return null;
  return (
    <div class="wrapper">
      <div class="trouble" ref={box} tabIndex={-1}>
        <p id={id}>
          <span role="alert">
            {adviceOf(failure, plansUrl)}
            {children}
          </span>{' '}
          {failure.kind === 'wait' && <span>{left > 0 ? text.tryIn(left) : text.tryNow}</span>}
        </p>
        {onRetry && canRetry(failure) && (
          <button type="button" disabled={left > 0} onClick={onRetry}>
            {text.tryAgain}
          </button>
        )}
      </div>
    </div>
  );
};
