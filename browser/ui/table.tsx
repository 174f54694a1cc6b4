import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { classNames } from "./class-names.ts";
import { useIsPhone, useRowHeights } from "./density.ts";
import { useRowsInSight } from "./rows-in-sight.ts";
import { useShortcut } from "./shortcuts.ts";
import classes from "./table.module.css";

export interface Column<T> {
  readonly id: string;
  readonly head: ReactNode;
  /** What it is called where its head is no text. */
  readonly name?: string;
  readonly cell: (row: T) => ReactNode;
  /** Numbers stand at the right. */
  readonly align?: "left" | "right";
  /** Present: the list can be put in the order of this column. */
  readonly isSortable?: boolean;
  /** Below all rows, such as their sum. */
  readonly foot?: ReactNode;
  /** Takes what is left, and is cut off with dots. */
  readonly isWide?: boolean;
}

interface Sort {
  readonly column: string;
  readonly isDescending: boolean;
}

/** What a table takes. */
export interface TableProps<T> {
  /** What the table lists, read out. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  /** Present: a row can be opened, by a click, or by Tab, the arrow keys (or j and k) and Enter. */
  readonly onOpen?: ((row: T) => void) | undefined;
  /** Key of the row that is open beside the table; j and k open the next and the previous one then. */
  readonly openKey?: string | undefined;
  /** Rows that are set apart, such as those that have just come. */
  readonly isMarked?: ((row: T) => boolean) | undefined;
  /** Called when the list leaves its top, and when it is there again. */
  readonly onTop?: ((isAtTop: boolean) => void) | undefined;
  /** Called when the end comes into sight. */
  readonly onEnd?: (() => void) | undefined;
  /** Every row is in the document, as for printing. */
  readonly isWhole?: boolean;
  /** Stands in place of the rows when there are none. */
  readonly empty?: ReactNode;
}

/** Shorter lists are drawn whole, as high as they are. */
const VIRTUAL_FROM = 40;
/** A phone has no room for more columns: a row is a card there. */
const PHONE_COLUMNS = 3;
/** Cards hide empty values, which format.ts writes as a dash. */
const known = (content: ReactNode): ReactNode => (content === "–" ? null : content);
/** Before a card is measured. */
const CARD_PX = 76;
/** How far a key moves from a row that has the focus. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** A list of rows. Only those in sight are in the document; its own scrolling keeps the page from scrolling sideways. */
export function Table<T>({
  label,
  columns,
  rows,
  rowKey,
  sort,
  onSort,
  onOpen,
  openKey,
  isMarked,
  onTop,
  onEnd,
  isWhole = false,
  empty,
}: TableProps<T>) {
  const box = useRef<HTMLElement>(null);
  const [atKey, setAtKey] = useState<string | null>(null);
  const chosenKey = atKey ?? openKey ?? null;
  const at = useMemo(
    () => (chosenKey === null ? -1 : rows.findIndex((row) => rowKey(row) === chosenKey)),
    [rows, rowKey, chosenKey],
  );
  const isVirtual = !isWhole && rows.length >= VIRTUAL_FROM;
  const tableHeights = useRowHeights();
  const isCards = useIsPhone() && columns.length > PHONE_COLUMNS;
  const [cardPx, setCardPx] = useState(CARD_PX);
  const heights = isCards ? { rowPx: cardPx, headPx: 0 } : tableHeights;
  const seen = useRowsInSight(box, isVirtual ? rows.length : 0, heights);
  const first = isVirtual ? seen.first : 0;
  const last = isVirtual ? seen.last : rows.length - 1;

  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - 1) onEnd?.();
  }, [last, rows.length, onEnd]);

  const isMeasured = isCards && isVirtual;
  // all cards are as high as the highest one seen: none is cut, and where a row is stays a product
  useLayoutEffect(() => {
    const cards = isMeasured ? (box.current?.querySelectorAll<HTMLElement>("[data-index]") ?? []) : [];
    setCardPx(Math.max(cardPx, ...[...cards].map(({ offsetHeight }) => offsetHeight)));
  });

  const isOpenable = onOpen !== undefined;
  const move = (by: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, at + by));
    const row = rows[next];
    if (row === undefined) return;
    setAtKey(rowKey(row));
    if (openKey !== undefined) onOpen?.(row);
    if (isVirtual) seen.show(next);
    else box.current?.querySelector(`[data-index="${next}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const isToFocus = useRef(false);
  // after every drawing: a row that was out of sight is in the document only once the list has scrolled to it
  useEffect(() => {
    const row = isToFocus.current ? box.current?.querySelector<HTMLElement>(`[data-index="${at}"]`) : null;
    if (row == null) return;
    isToFocus.current = false;
    row.focus({ preventScroll: true });
  });
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const step = Object.hasOwn(STEPS, event.key) ? STEPS[event.key] : undefined;
    const isRow = event.target instanceof Element && event.target.matches("tr[data-index]");
    if (!isOpenable || step === undefined || !isRow || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    isToFocus.current = true;
    move(step);
  };
  /** The one row that Tab reaches: where the reader is, else the first in sight. */
  const tabStop = at >= first && at <= last ? at : first;
  useShortcut("j", () => move(1), isOpenable && rows.length > 0);
  useShortcut("k", () => move(-1), isOpenable && rows.length > 0);
  useShortcut(
    "Enter",
    (event) => {
      const row = rows[at];
      if (row === undefined || (event.target instanceof Element && event.target.closest("a, button") !== null)) return;
      event.preventDefault();
      onOpen?.(row);
    },
    isOpenable,
  );

  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <section
      ref={seen.watch}
      className={classNames(classes["box"], isVirtual && classes["tall"])}
      tabIndex={0}
      aria-label={label}
      onKeyDown={onKey}
      onScroll={onTop === undefined ? undefined : (event) => onTop(event.currentTarget.scrollTop <= 0)}
    >
      <table
        className={classNames(classes["table"], isCards && classes["cards"])}
        aria-label={label}
        aria-rowcount={rows.length + 1}
      >
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <HeadCell key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {isVirtual && seen.abovePx > 0 && <Gap height={seen.abovePx} columns={columns.length} />}
          {rows.slice(first, last + 1).map((row, offset) => {
            const index = first + offset;
            const key = rowKey(row);
            return (
              <tr
                key={key}
                style={isMeasured ? { minHeight: cardPx } : undefined}
                data-index={index}
                aria-rowindex={index + 2}
                tabIndex={isOpenable ? (index === tabStop ? 0 : -1) : undefined}
                onFocus={({ target, currentTarget }) => {
                  if (isOpenable && target === currentTarget) setAtKey(key);
                }}
                className={classNames(
                  isOpenable && classes["openable"],
                  index === at && classes["at"],
                  key === openKey && classes["open"],
                  isMarked?.(row) === true && classes["marked"],
                )}
                onClick={
                  isOpenable
                    ? (event) => {
                        if ((event.target as Element).closest("a, button, input") !== null) return;
                        setAtKey(key);
                        onOpen(row);
                      }
                    : undefined
                }
              >
                {columns.map((column) => (
                  <td
                    key={column.id}
                    data-column={column.id}
                    data-label={typeof column.head === "string" ? column.head : column.name}
                    className={classNames(
                      column.align === "right" && classes["right"],
                      column.isWide === true && classes["wide"],
                    )}
                  >
                    {isCards ? known(column.cell(row)) : column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {isVirtual && seen.belowPx > 0 && <Gap height={seen.belowPx} columns={columns.length} />}
        </tbody>
        {columns.some(({ foot }) => foot !== undefined) && (
          <tfoot>
            <tr>
              {columns.map(({ id, foot, align }) => (
                <td key={id} className={align === "right" ? classes["right"] : undefined}>
                  {foot}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  );
}

function HeadCell<T>({
  column,
  sort,
  onSort,
}: {
  readonly column: Column<T>;
  readonly sort: Sort | undefined;
  readonly onSort: ((sort: Sort) => void) | undefined;
}) {
  const isSorted = sort?.column === column.id;
  const isDescending = isSorted && sort.isDescending;
  const canSort = column.isSortable === true && onSort !== undefined;
  return (
    <th
      scope="col"
      className={column.align === "right" ? classes["right"] : undefined}
      aria-sort={isSorted ? (isDescending ? "descending" : "ascending") : undefined}
    >
      {canSort ? (
        <button
          type="button"
          className={classes["sort"]}
          onClick={() => onSort({ column: column.id, isDescending: isSorted ? !isDescending : true })}
        >
          {column.head}
          {isSorted && (isDescending ? <ArrowDown size={12} aria-hidden /> : <ArrowUp size={12} aria-hidden />)}
        </button>
      ) : (
        column.head
      )}
    </th>
  );
}

/** Stands for rows that are not in the document. */
function Gap({ height, columns }: { readonly height: number; readonly columns: number }) {
  return (
    <tr aria-hidden className={classes["gap"]}>
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}
