import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/**
 * Reports the success of a change, to screen readers too. With `takesFocus`, the report gets the focus, because the
 * element that had it is removed.
 */
export const useNotice = () => {
  const [shown, show] = useState({ text: '', takesFocus: false, count: 0 });
  const element = useRef<HTMLParagraphElement>(null);
  const announce = useCallback((text: string, takesFocus = false) => {
    show(({ count }) => ({ text, takesFocus, count: count + 1 }));
  }, []);
  useEffect(() => {
    if (shown.takesFocus) element.current?.focus();
  }, [shown]);
  const notice = (
    <p class="notice" role="status" tabIndex={-1} ref={element}>
      {/* A new element, so that a repeated text is announced again. */}
      {shown.text !== '' && <span key={shown.count}>{shown.text}</span>}
    </p>
  );
  return { notice, announce };
};
