import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { texts } from '../../texts.js';
import { Dialog } from './dialog.js';

const text = texts.components;

let isLeaving = false;

/** Handles Back and Forward while a page has unsaved changes. */
let onHistory: ((event: PopStateEvent) => void) | null = null;

// Listeners of the window are called in the order of their registration: this one is called before the router.
window.addEventListener('popstate', (event) => onHistory?.(event));

/** Leaves the page without a question, because its session has ended. */
export const leaveTo = (address: string): void => {
  isLeaving = true;
  location.assign(address);
};

/** The link of the console that a click follows in this window; `null`: none. */
const followedBy = (event: MouseEvent): HTMLAnchorElement | null => {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
    return null;
  }
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isFollowed =
    link?.origin === location.origin &&
    link.pathname.startsWith('/console') &&
    link.getAttribute('href')?.startsWith('#') === false &&
    link.target === '' &&
    !link.hasAttribute('download');
  return isFollowed ? link : null;
};

/** Asks before the page with unsaved changes is left, while it is mounted. */
export const LeaveGuard = () => {
  const { route } = useLocation();
  /** Continues to where the user wanted to go. */
  const [proceed, setProceed] = useState<() => void>();
  const isAllowed = useRef(false);
  useEffect(() => {
    const here = location.pathname + location.search;
    const onClick = (event: MouseEvent): void => {
      const link = followedBy(event);
      if (!link) return;
      event.preventDefault();
      event.stopPropagation();
      const { pathname, search } = link;
      setProceed(() => () => route(pathname + search));
    };
    onHistory = (event) => {
      if (isAllowed.current) return;
      event.stopImmediatePropagation();
      history.pushState(null, '', here);
      setProceed(() => () => history.back());
    };
    const onUnload = (event: BeforeUnloadEvent): void => {
      if (!isLeaving) event.preventDefault();
    };
    // The capture phase is before the listener of the router.
    document.addEventListener('click', onClick, true);
    window.addEventListener('beforeunload', onUnload);
    return () => {
      document.removeEventListener('click', onClick, true);
      onHistory = null;
      window.removeEventListener('beforeunload', onUnload);
    };
  }, [route]);
  if (!proceed) return null;
  const stay = (): void => setProceed(undefined);
  return (
    <Dialog title={text.leaveUnsaved} onClose={stay}>
      <div class="stack">
        <p>{text.unsaved}</p>
        <div class="row">
          <button
            type="button"
            class="danger"
            onClick={() => {
              isAllowed.current = true;
              stay();
              proceed();
            }}
          >
            {text.leave}
          </button>
          <button type="button" onClick={stay}>
            {text.stay}
          </button>
        </div>
      </div>
    </Dialog>
  );
};
