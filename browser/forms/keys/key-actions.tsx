import { useState } from "react";
import { isConsoleKey } from "../../../shared/access/console-key.ts";
import { api, type Records } from "../../data/api.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { commonText } from "../../messages/common.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Row } from "../../ui/layout.tsx";
import { DeleteButton } from "../record/delete-button.tsx";
import { useAnnouncedWrite } from "../record/use-announced-write.ts";
import { KEY_READS } from "./key-writes.ts";
import { RotateKey } from "./rotate-key.tsx";
import { SecretDialog } from "./secret-dialog.tsx";

const text = texts("keys", keysTexts);

interface KeyActionsProps {
  readonly apiKey: Records["ApiKey"];
  /** What people call the key. */
  readonly name: string;
  readonly zone: string;
  /** The tenant's list of models; null: all. */
  readonly tenantModels: readonly string[] | null;
  readonly onDeleted: () => void;
}

/** Disabling and tracing with undo, rotation with the new secret, deletion after a question. */
export function KeyActions({ apiKey, name, zone, tenantModels, onDeleted }: KeyActionsProps) {
  const { id, disabled, tracing_enabled } = apiKey;
  const { role } = useCurrentUser();
  const [isRotating, setRotating] = useState(false);
  const [isDisabling, setDisabling] = useState(false);
  const [rotated, setRotated] = useState<{ readonly created: Records["CreatedApiKey"]; readonly atMs: number } | null>(
    null,
  );
  const isOfConsole = isConsoleKey(id);
  const path = { params: { path: { id } } };
  const failed = (): string => commonText("notChanged", { name });
  const disabledText = (isDisabled: boolean): string => text(isDisabled ? "disabledDone" : "enabledDone", { name });
  const tracingText = (isTraced: boolean): string => text(isTraced ? "traceOn" : "traceOff", { name });
  const disabling = useAnnouncedWrite<boolean>({
    send: async (isDisabled) =>
      await api.PUT("/api/v1/keys/{id}/disabled", { ...path, body: { disabled: isDisabled } }),
    touches: KEY_READS,
    done: disabledText,
    failed,
    inverse: (isDisabled) => ({ variables: !isDisabled, done: disabledText(!isDisabled) }),
  });
  const tracing = useAnnouncedWrite<boolean>({
    send: async (isTraced) =>
      await api.PUT("/api/v1/keys/{id}/tracing", { ...path, body: { tracing_enabled: isTraced } }),
    touches: KEY_READS,
    done: tracingText,
    failed,
    inverse: (isTraced) => ({ variables: !isTraced, done: tracingText(!isTraced) }),
  });
  if (isOfConsole && role === "user") return null;
  return (
    <Row>
      {!isOfConsole && (
        <Button writes onClick={() => setRotating(true)}>
          {text("rotate")}
        </Button>
      )}
      <Button writes isBusy={disabling.isBusy} onClick={() => (disabled ? disabling.run(false) : setDisabling(true))}>
        {text(disabled ? "enable" : "disable")}
      </Button>
      <Confirm
        isOpen={isDisabling}
        onCancel={() => setDisabling(false)}
        onConfirm={() => {
          setDisabling(false);
          disabling.run(true);
        }}
        title={text("disableTitle", { name })}
        confirmLabel={text("disable")}
      >
        {text("disableText")}
      </Confirm>
      {role === "admin" && !isOfConsole && (
        <Button
          writes
          aria-pressed={tracing_enabled}
          isBusy={tracing.isBusy}
          onClick={() => tracing.run(!tracing_enabled)}
        >
          {text(tracing_enabled ? "untrace" : "trace")}
        </Button>
      )}
      <DeleteButton
        label={commonText("delete")}
        title={text("deleteTitle", { name })}
        send={async () => await api.DELETE("/api/v1/keys/{id}", path)}
        touches={KEY_READS}
        ends="/api/v1/keys/{id}"
        done={commonText("deleted", { name })}
        failed={commonText("notDeleted", { name })}
        onDeleted={onDeleted}
      >
        {text("deleteText")}
      </DeleteButton>
      {isRotating && (
        <RotateKey
          apiKey={apiKey}
          name={name}
          zone={zone}
          onClose={() => setRotating(false)}
          onRotated={(created) => {
            setRotating(false);
            setRotated({ created, atMs: serverNowMs() });
          }}
        />
      )}
      {rotated !== null && (
        <SecretDialog
          created={rotated.created}
          sinceMs={rotated.atMs}
          tenantModels={tenantModels}
          onClose={() => setRotated(null)}
        />
      )}
    </Row>
  );
}
