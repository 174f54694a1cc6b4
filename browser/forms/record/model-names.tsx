import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/fields.tsx";
import { Row, Stack } from "../../ui/layout.tsx";
import type { Typed } from "./drafts.ts";
import { fieldHint, fieldLabel } from "./field-words.ts";

const text = texts("keys", keysTexts);
const OFFERED_MAX = 20;

interface ModelNamesProps {
  /** The field that has the names, one a line. */
  readonly name: string;
  readonly typed: Typed;
  readonly error: string | undefined;
  readonly onType: (typed: Typed) => void;
}

/** Names of models, typed or chosen from those that there are. */
export function ModelNames({ name, typed, error, onType }: ModelNamesProps) {
  const models = useQuery(read("/api/v1/models", { params: { query: { limit: "200" } } }));
  const value = typeof typed === "string" ? typed : "";
  const lines = value.split("\n").map((line) => line.trim());
  const others = (models.data ?? []).map(({ model_name }) => model_name).filter((one) => !lines.includes(one));
  const hint = fieldHint(name);
  return (
    <Stack>
      <TextArea
        label={fieldLabel(name)}
        {...(hint === undefined ? {} : { hint })}
        error={error}
        rows={5}
        spellCheck={false}
        value={value}
        onChange={(event) => onType(event.target.value)}
      />
      {others.length > 0 && (
        <Row>
          <span>{text("addModel")}</span>
          {others.slice(0, OFFERED_MAX).map((one) => (
            <Button key={one} onClick={() => onType([...lines.filter(Boolean), one].join("\n"))}>
              {one}
            </Button>
          ))}
        </Row>
      )}
    </Stack>
  );
}
