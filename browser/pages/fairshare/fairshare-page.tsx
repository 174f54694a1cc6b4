import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { PageHead } from "../../ui/layout.tsx";

const pageText = texts("pages", pageTexts);

export function FairsharePage() {
  return <PageHead title={pageText("fairshare")} question={pageText("fairshareQuestion")} />;
}
