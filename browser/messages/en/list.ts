/** Texts of every list: its columns, its order, its file. */
export const listTexts = {
  columns: "Columns",
  columnsOf: "Columns: {label}",
  usual: "Usual columns and order",
  part: "These are not all rows yet: the others are being read.",
  cut: "The order is that of the first {count} rows. Narrow the list to see the others.",
  csvOf: "CSV: {label}",
  csvShown: "The rows as they are shown, as CSV",
  csvHint: "All rows that match, as CSV",
} as const;
