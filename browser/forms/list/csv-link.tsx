import { addressOf, type ReadPath } from "../../data/reads.ts";
import { commonText } from "../../messages/common.ts";
import { listTexts } from "../../messages/en/list.ts";
import { texts } from "../../messages/texts.ts";
import { DownloadLink } from "../../ui/download-link.tsx";

const text = texts("list", listTexts);

interface CsvLinkProps {
  readonly path: ReadPath;
  /** The filters, by the names of the API. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** What is in the file; absent: all rows that match. */
  readonly title?: string;
}

/** The same list as a file, without a limit. */
export function CsvLink({ path, query = {}, title = text("csvHint") }: CsvLinkProps) {
  return <DownloadLink href={addressOf(path, { ...query, format: "csv" })} label={commonText("csv")} title={title} />;
}
