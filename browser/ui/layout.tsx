import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import classes from "./layout.module.css";

/** The head of a page: what it is, the question it answers, and its actions. */
export function PageHead({
  title,
  question,
  actions,
}: {
  readonly title: ReactNode;
  readonly question?: ReactNode;
  readonly actions?: ReactNode;
}) {
  return (
    <header className={classes["head"]}>
      <div className={classes["titles"]}>
        <h1>{title}</h1>
        {question !== undefined && <p>{question}</p>}
      </div>
      {actions !== undefined && <div className={classes["actions"]}>{actions}</div>}
    </header>
  );
}

/** A part of a page, with a heading where the page has several. */
export function Panel({
  title,
  note,
  actions,
  isFlush = false,
  children,
}: {
  readonly title?: ReactNode;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <section className={classes["panel"]}>
      {(title !== undefined || actions !== undefined) && (
        <header className={classes["panelHead"]}>
          <div className={classes["titles"]}>
            {title !== undefined && <h2>{title}</h2>}
            {note !== undefined && <p>{note}</p>}
          </div>
          {actions !== undefined && <div className={classes["actions"]}>{actions}</div>}
        </header>
      )}
      <div className={classNames(classes["panelBody"], isFlush && classes["flush"])}>{children}</div>
    </section>
  );
}

/** Things beside one another that wrap: filters, buttons. */
export function Row({ children, isEnd = false }: { readonly children: ReactNode; readonly isEnd?: boolean }) {
  return <div className={classNames(classes["row"], isEnd && classes["end"])}>{children}</div>;
}

/** What a list can be narrowed by, in equal parts. */
export function Filters({ children }: { readonly children: ReactNode }) {
  return <div className={classes["filters"]}>{children}</div>;
}

/** Things below one another. `isHidden`: they are read, and shown later. */
export function Stack({ children, isHidden = false }: { readonly children: ReactNode; readonly isHidden?: boolean }) {
  return (
    <div className={classes["stack"]} hidden={isHidden}>
      {children}
    </div>
  );
}

/** Equal parts, as many beside one another as fit. */
export function Grid({
  children,
  minWidth = "narrow",
}: {
  readonly children: ReactNode;
  readonly minWidth?: "narrow" | "wide";
}) {
  return <div className={classNames(classes["grid"], classes[minWidth])}>{children}</div>;
}

/** One figure with its name, and what it is compared with. */
export function Tile({
  label,
  value,
  note,
  children,
}: {
  readonly label: ReactNode;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly children?: ReactNode;
}) {
  return (
    <div className={classes["tile"]}>
      <p className={classes["tileLabel"]}>{label}</p>
      <p className={classes["tileValue"]}>{value}</p>
      {note !== undefined && <p className={classes["tileNote"]}>{note}</p>}
      {children}
    </div>
  );
}

/** Names and values, one pair a line. */
export function Facts({ facts }: { readonly facts: readonly (readonly [label: ReactNode, value: ReactNode])[] }) {
  return (
    <dl className={classes["facts"]}>
      {facts.map(([label, value], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of facts does not change
        <div key={index}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
