import { Download } from "lucide-react";
import { CSV_TYPE } from "../../../shared/text/csv.ts";
import { commonText } from "../../messages/common.ts";
import { listTexts } from "../../messages/en/list.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { storeFile } from "../../ui/store-file.ts";
import { type CsvColumn, shownCsv } from "./shown-csv.ts";

const text = texts("list", listTexts);

interface ShownCsvButtonProps<T> {
  /** The name of the file, without its ending. */
  readonly file: string;
  /** What the table lists, read out where a page has several. */
  readonly label?: string | undefined;
  readonly columns: readonly CsvColumn<T>[];
  readonly rows: readonly T[];
}

/** A button that stores the rows as they are shown when it is pressed. */
export function ShownCsvButton<T>({ file, label, columns, rows }: ShownCsvButtonProps<T>) {
  const store = (): void => storeFile(`${file}.csv`, new Blob([shownCsv(columns, rows)], { type: CSV_TYPE }));
  return (
    <Button
      icon={<Download size={14} aria-hidden />}
      title={text("csvShown")}
      aria-label={label === undefined ? undefined : text("csvOf", { label })}
      onClick={store}
    >
      {commonText("csv")}
    </Button>
  );
}
