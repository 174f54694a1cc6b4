/** Texts of every list: its columns, its order, its file. */
export const listTexts = {
  columns: "Columns",
  columnsOf: "Columns: {label}",
  usual: "Default columns and order",
  part: "Not all rows are loaded yet.",
  cut: "Only the first {count} rows are sorted. Narrow the list to include the rest.",
  csvOf: "CSV: {label}",
  csvShown: "The rows as shown, as CSV",
  csvHint: "All rows that match, as CSV",
} as const;
