/**
 * The rows of a long list that are in the document: those in sight and a few on either side. All rows are equally high, below
 * a head that stays at the top of the box.
 */
import { type RefCallback, type RefObject, useCallback, useState } from "react";

/** Rows before the box has been measured. */
const ROWS_AT_FIRST = 20;
const OVERSCAN = 8;

interface RowHeights {
  readonly rowPx: number;
  readonly headPx: number;
}

/**
 * `watch` is the `ref` of the box that scrolls, which then is `box` too. `count`: the rows of the list; 0 for a list that is
 * whole in the document, which is not watched.
 */
export function useRowsInSight(box: RefObject<HTMLElement | null>, count: number, { rowPx, headPx }: RowHeights) {
  const [sight, setSight] = useState({ top: 0, rows: ROWS_AT_FIRST });
  const isWatched = count > 0;
  const watch: RefCallback<HTMLElement> = useCallback(
    (element) => {
      box.current = element;
      if (element === null || !isWatched) return;
      const look = (): void => {
        const top = Math.max(0, Math.floor(element.scrollTop / rowPx));
        const rows = Math.ceil(element.clientHeight / rowPx);
        setSight((before) => (before.top === top && before.rows === rows ? before : { top, rows }));
      };
      // it looks once when it starts, too
      const size = new ResizeObserver(look);
      size.observe(element);
      element.addEventListener("scroll", look, { passive: true });
      return () => {
        size.disconnect();
        element.removeEventListener("scroll", look);
      };
    },
    [box, isWatched, rowPx],
  );
  const { first, last } = rowsAround(sight, count);
  return {
    watch,
    first,
    last,
    abovePx: first * rowPx,
    belowPx: (count - 1 - last) * rowPx,
    /** Scrolls as little as brings a row into sight. */
    show: (at: number): void => {
      if (box.current !== null) box.current.scrollTop = scrollTo(at, box.current, { rowPx, headPx });
    },
  };
}

/** The first and the last row in the document. A list that became shorter than where it was scrolled to shows its end. */
export function rowsAround({ top, rows }: { readonly top: number; readonly rows: number }, count: number) {
  const from = Math.max(0, Math.min(top, count - rows));
  return { first: Math.max(0, from - OVERSCAN), last: Math.min(count - 1, from + rows + OVERSCAN) };
}

/** Where a box is scrolled to, so that a row is whole in sight between its head and its end. */
export function scrollTo(
  at: number,
  { scrollTop, clientHeight }: Pick<HTMLElement, "scrollTop" | "clientHeight">,
  { rowPx, headPx }: RowHeights,
): number {
  const start = at * rowPx;
  return Math.min(start, Math.max(scrollTop, start + rowPx + headPx - clientHeight));
}
