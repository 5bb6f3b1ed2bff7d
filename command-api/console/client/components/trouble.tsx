import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { describeError } from '../../rules-form.js';
import type { Failure } from '../app/api.js';
import { texts } from '../../texts.js';

const text = texts.components;

interface Props {
  readonly failure: Failure | undefined;
  /** Retries. Without it, the user can submit the form again. */
  readonly onRetry?: () => void;
  /** Details, after the message. */
  readonly children?: ComponentChildren;
}

/** Seconds until the user may retry. */
const useCountdown = (failure: Failure | undefined): number => {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    if (failure?.kind !== 'wait') return undefined;
    const end = performance.now() + failure.seconds * 1_000;
    const show = (): void => {
      setLeft(Math.max(0, Math.ceil((end - performance.now()) / 1_000)));
    };
    show();
    const timer = setInterval(show, 500);
    return () => {
      clearInterval(timer);
    };
  }, [failure]);
  return left;
};

const adviceOf = (failure: Failure) => {
  switch (failure.kind) {
    case 'offline':
      return text.offline;
    case 'plan':
      return (
        <>
          {failure.message} <a href={failure.upgradeUrl}>{text.seePlans}</a>
        </>
      );
    case 'wait':
    case 'refused':
      return <>{describeError(failure.message)}</>;
  }
};

/** The message of a failure. It gets the focus, so that the user notices it. */
export const Trouble = ({ failure, onRetry, children }: Props) => {
  const left = useCountdown(failure);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (failure) box.current?.focus();
  }, [failure]);
  if (!failure) return null;
  return (
    <div class="trouble" ref={box} tabIndex={-1}>
      <p>
        <span role="alert">
          {adviceOf(failure)}
          {children}
        </span>{' '}
        {failure.kind === 'wait' && <span>{left > 0 ? text.tryIn(left) : text.tryNow}</span>}
      </p>
      {onRetry && (
        <button type="button" disabled={left > 0} onClick={onRetry}>
          {text.tryAgain}
        </button>
      )}
    </div>
  );
};
