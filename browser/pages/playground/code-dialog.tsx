import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "../../data/session.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { curlCode, pythonCode, typescriptCode } from "./code-of.ts";

const text = texts("playground", playgroundTexts);
/** Where the gateway is not known. */
const SOME_GATEWAY = "https://gateway.example";
const LANGUAGES = [
  { id: "curl", codeOf: curlCode },
  { id: "python", codeOf: pythonCode },
  { id: "typescript", codeOf: typescriptCode },
] as const;

/** The request of the conversation in the languages people paste it into. */
export function CodeDialog({
  body,
  onClose,
}: {
  readonly body: Readonly<Record<string, unknown>>;
  readonly onClose: () => void;
}) {
  const session = useQuery(sessionQuery);
  const [shown, setShown] = useState<(typeof LANGUAGES)[number]["id"]>("curl");
  const code = { baseUrl: session.data?.proxy_base_url ?? SOME_GATEWAY, body };
  return (
    <Dialog isOpen onClose={onClose} title={text("code")} closeLabel={text("close")}>
      <p>{text("codeHint")}</p>
      <Tabs
        label={text("code")}
        chosen={shown}
        onChoose={(id) => setShown(LANGUAGES.find((one) => one.id === id)?.id ?? "curl")}
        tabs={LANGUAGES.map(({ id, codeOf }) => ({
          id,
          label: text(id),
          content: <Code text={codeOf(code)} label={text("codeCopy")} doneLabel={text("copied")} />,
        }))}
      />
    </Dialog>
  );
}
