/** Which columns of a list are shown: those that an address names, else the usual ones. Pure. */

interface Choosable {
  readonly id: string;
  /** Shown only when it is chosen. */
  readonly isExtra?: boolean;
}

/** The columns that an address names, in the order of the list; the usual ones when it names none that there is. */
export function shownColumns<C extends Choosable>(columns: readonly C[], param: string | undefined): readonly C[] {
  const ids = new Set((param ?? "").split(","));
  const named = columns.filter(({ id }) => ids.has(id));
  return named.length > 0 ? named : columns.filter(({ isExtra }) => isExtra !== true);
}

/** The columns with one shown or hidden, as they stand in an address; undefined: none would be left. */
export function columnsParam(
  columns: readonly Choosable[],
  shown: readonly Choosable[],
  toggled: string,
): string | undefined {
  const before = new Set(shown.map(({ id }) => id));
  const after = columns.filter(({ id }) => before.has(id) !== (id === toggled));
  return after.length === 0 ? undefined : after.map(({ id }) => id).join(",");
}
