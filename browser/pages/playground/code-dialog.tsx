import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "../../data/session.ts";
import { commonText } from "../../messages/common.ts";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { curlCode, pythonCode, typescriptCode } from "./code-of.ts";
import type { Api } from "./messages-api.ts";

const text = texts("playground", playgroundTexts);
/** Where the gateway is not known. */
const SOME_GATEWAY = "https://gateway.example";
const LANGUAGES = [
  { id: "curl", codeOf: curlCode },
  { id: "python", codeOf: pythonCode },
  { id: "typescript", codeOf: typescriptCode },
] as const;

/** The request of the conversation to one of its models, in the languages people paste it into. */
export function CodeDialog({
  api,
  models,
  bodyOf,
  onClose,
}: {
  readonly api: Api;
  readonly models: readonly string[];
  /** The body of the request to the model at this place. */
  readonly bodyOf: (lane: number) => Readonly<Record<string, unknown>>;
  readonly onClose: () => void;
}) {
  const [lane, setLane] = useState(0);
  const session = useQuery(sessionQuery);
  const [shown, setShown] = useState<(typeof LANGUAGES)[number]["id"]>("curl");
  const code = { baseUrl: session.data?.proxy_base_url ?? SOME_GATEWAY, api, body: bodyOf(lane) };
  return (
    <Dialog isOpen onClose={onClose} title={text("code")}>
      <p>{text("codeHint")}</p>
      {models.length > 1 && (
        <SelectField
          label={text("model")}
          value={String(lane)}
          onChange={({ target }) => setLane(Number(target.value))}
          choices={models.map((name, at) => ({ value: String(at), label: name }))}
        />
      )}
      <Tabs
        label={text("code")}
        chosen={shown}
        onChoose={(id) => setShown(LANGUAGES.find((one) => one.id === id)?.id ?? "curl")}
        tabs={LANGUAGES.map(({ id, codeOf }) => ({
          id,
          label: text(id),
          content: <Code text={codeOf(code)} label={text("codeCopy")} doneLabel={commonText("copied")} />,
        }))}
      />
    </Dialog>
  );
}
