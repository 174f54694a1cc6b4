import type { ReactNode } from "react";
import { listTexts } from "../../messages/en/list.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Loaded, Notice, type ReadState } from "../../ui/states.tsx";
import { Table, type TableProps } from "../../ui/table.tsx";
import type { ListView } from "./use-list-view.tsx";

const text = texts("list", listTexts);

interface ListTableProps<T> extends Omit<TableProps<T>, "columns" | "rows" | "sort" | "onSort"> {
  /** The read of the list. */
  readonly state: Omit<ReadState<readonly T[]>, "data"> & { readonly isCut?: boolean; readonly isPart?: boolean };
  readonly view: ListView<T>;
  readonly title?: ReactNode;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
}

/** A list in a panel: loading, not to be read, none, or its rows as the address of the page wants them. */
export function ListTable<T>({ state, view, title, note, actions, ...table }: ListTableProps<T>) {
  const { rows, choice: _choice, ...shown } = view;
  return (
    <Panel isFlush title={title} note={note} actions={actions}>
      <Loaded state={{ ...state, data: rows }}>
        {(seen) => (
          <>
            {state.isCut === true && <Notice tone="warn">{text("cut", { count: formatCount(seen.length) })}</Notice>}
            {state.isPart === true && <Notice>{text("part")}</Notice>}
            <Table {...table} {...shown} rows={seen} {...(state.isPart === true ? { empty: undefined } : {})} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
