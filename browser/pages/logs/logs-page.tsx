import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { PageHead } from "../../ui/layout.tsx";

const pageText = texts("pages", pageTexts);

export function LogsPage() {
  return <PageHead title={pageText("logs")} question={pageText("logsQuestion")} />;
}
