import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answerValue, api, type Records } from "../../data/api.ts";
import { commonText } from "../../messages/common.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";
import { complain } from "../record/use-announced-write.ts";
import { KEY_READS } from "./key-writes.ts";

const text = texts("keys", keysTexts);
const DAY_SECS = 86_400;
const GRACES_SECS = [3600, DAY_SECS, 604_800, 0] as const;
const MINUTE_MS = 60_000;

interface RotateKeyProps {
  readonly apiKey: Records["ApiKey"];
  /** What people call the key. */
  readonly name: string;
  readonly zone: string;
  readonly onRotated: (created: Records["CreatedApiKey"]) => void;
  readonly onClose: () => void;
}

/** Gives a key another secret; the old one is admitted for a time that is chosen (docs/rules/keys.md#rotation). */
export function RotateKey({ apiKey, name, zone, onRotated, onClose }: RotateKeyProps) {
  const queries = useQueryClient();
  const [graceSecs, setGraceSecs] = useState<number>(DAY_SECS);
  const [isBusy, setBusy] = useState(false);
  const nowMs = useNow(MINUTE_MS);
  const olderUntilMs = instantOf(apiKey.previous_secret_until);
  const rotate = async (): Promise<void> => {
    setBusy(true);
    try {
      // Not through the cache of writes, which would keep the secret.
      const answered = await api.POST("/api/v1/keys/{id}/rotate", {
        params: { path: { id: apiKey.id } },
        body: { grace_secs: graceSecs },
      });
      onRotated(answerValue(answered));
      for (const path of KEY_READS) void queries.invalidateQueries({ queryKey: [path] });
    } catch (error) {
      complain(commonText("notChanged", { name }), error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={text("rotateTitle", { name })}
      footer={
        <>
          <Button onClick={onClose}>{commonText("cancel")}</Button>
          <Button tone="danger" isBusy={isBusy} onClick={() => void rotate()}>
            {text("rotate")}
          </Button>
        </>
      }
    >
      <Stack>
        <p>{text("rotateText")}</p>
        <SelectField
          label={text("rotateFor")}
          value={String(graceSecs)}
          onChange={(event) => setGraceSecs(Number(event.target.value))}
          choices={GRACES_SECS.map((secs) => ({ value: String(secs), label: text(`grace${secs}`) }))}
        />
        <Notice tone={graceSecs === 0 ? "warn" : "neutral"}>
          {text(graceSecs === 0 ? "rotateNow" : "rotateGrace")}
        </Notice>
        {olderUntilMs !== null && olderUntilMs > nowMs && (
          <Notice tone="warn">{text("rotateRunning", { instant: formatInstant(zone, olderUntilMs, "minute") })}</Notice>
        )}
      </Stack>
    </Dialog>
  );
}
